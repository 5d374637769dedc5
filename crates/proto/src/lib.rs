//! Sans-IO game networking protocol: connections, channels, acknowledgements, encryption, congestion control.
