//! The messages that the relay answers with.

use std::net::SocketAddr;

use turn_client_proto::types::attribute::{Data, XorPeerAddress};
use turn_client_proto::types::message::DATA;
use turn_client_proto::types::stun::attribute::{AttributeWrite, ErrorCode, Nonce, Realm};
use turn_client_proto::types::stun::message::{
    IntegrityAlgorithm, Message, MessageClass, MessageIntegrityCredentials, MessageType,
    MessageWrite, MessageWriteExt, MessageWriteVec, Method, TransactionId,
};

/// By what a request was authenticated, and its answer is to be.
pub(super) struct Signature {
    pub(super) credentials: MessageIntegrityCredentials,
    pub(super) algorithm: IntegrityAlgorithm,
}

/// An answer with these attributes, signed if the request was.
pub(super) fn success(
    method: Method,
    transaction: TransactionId,
    attributes: &[&dyn AttributeWrite],
    signature: Option<&Signature>,
) -> Vec<u8> {
    let kind = MessageType::from_class_method(MessageClass::Success, method);
    finish(
        Message::builder(kind, transaction, MessageWriteVec::new()),
        attributes,
        signature,
    )
}

/// An answer that says what is wrong.
pub(super) fn error(
    method: Method,
    transaction: TransactionId,
    code: u16,
    signature: Option<&Signature>,
) -> Vec<u8> {
    let kind = MessageType::from_class_method(MessageClass::Error, method);
    let message = Message::builder(kind, transaction, MessageWriteVec::new());
    finish(message, &[&error_code(code)], signature)
}

/// An answer that asks for credentials.
pub(super) fn challenge(request: &Message<'_>, code: u16, realm: &str, nonce: &str) -> Vec<u8> {
    let kind = MessageType::from_class_method(MessageClass::Error, request.method());
    let message = Message::builder(kind, request.transaction_id(), MessageWriteVec::new());
    let (Ok(realm), Ok(nonce)) = (Realm::new(realm), Nonce::new(nonce)) else {
        return Vec::new();
    };
    finish(message, &[&error_code(code), &realm, &nonce], None)
}

/// A peer's bytes for a client, outside of channels.
pub(super) fn data_indication(number: u64, from: SocketAddr, data: &[u8]) -> Vec<u8> {
    let kind = MessageType::from_class_method(MessageClass::Indication, DATA);
    let transaction = TransactionId::from(u128::from(number));
    let message = Message::builder(kind, transaction, MessageWriteVec::new());
    let peer = XorPeerAddress::new(from, transaction);
    finish(message, &[&peer, &Data::new(data)], None)
}

fn error_code(code: u16) -> ErrorCode {
    let built = ErrorCode::builder(code).build();
    built.expect("the relay uses codes that STUN and TURN define")
}

fn finish(
    mut message: MessageWriteVec,
    attributes: &[&dyn AttributeWrite],
    signature: Option<&Signature>,
) -> Vec<u8> {
    for attribute in attributes {
        let added = message.add_attribute(*attribute);
        added.expect("each attribute comes once, before the signature");
    }
    if let Some(signature) = signature {
        let signed = message.add_message_integrity(&signature.credentials, signature.algorithm);
        signed.expect("a message is signed once");
    }
    message.finish()
}
