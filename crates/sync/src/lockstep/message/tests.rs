use super::*;

fn vector(name: &str) -> Vec<u8> {
    let page = include_str!("../../../../../WIRE.md");
    let line = page
        .lines()
        .find(|line| line.split('=').next().is_some_and(|n| n.trim() == name))
        .unwrap_or_else(|| panic!("WIRE.md has no vector `{name}`"));
    let hex = line.split(['=', '#']).nth(1).unwrap_or_default().trim();
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn messages_are_written_as_the_page_says() {
    let slack = Some((-2500, Tick(605)));
    let (tick, behind) = (Tick(600), 0);
    let report = Message::Report(Report {
        tick,
        behind,
        slack,
    });
    let checksum = 0x0102_0304_0506_0708;
    let (peer, incarnation) = (PeerId(3), 9);
    for (name, message) in [
        ("lockstep.report", report),
        ("lockstep.check", Message::Check { tick, checksum }),
        (
            "lockstep.want",
            Message::Want {
                voice: VoiceId { peer, incarnation },
                from: Tick(100),
            },
        ),
        (
            "lockstep.recall",
            Message::Recall(VoiceId { peer, incarnation }),
        ),
    ] {
        assert_eq!(message.write(), vector(name), "{name}");
        assert_eq!(Message::read(&vector(name)), Some(message), "{name}");
    }
}

#[test]
fn a_span_comes_back_as_written() {
    let mut timeline = Timeline::default();
    timeline.begin(Tick(100));
    timeline.insert(Tick(100), PlayerId(0), b"x");
    timeline.insert(Tick(103), PlayerId(2), b"hello");
    timeline.insert(Tick(103), PlayerId(900), b"world");
    timeline.insert(Tick(104), PlayerId(7), b"beyond");
    let mut entries = Vec::new();
    assert_eq!(
        write_entries(
            &timeline,
            Tick(100),
            Tick(104),
            |_| true,
            SPLIT_BYTES,
            &mut entries
        ),
        Tick(104)
    );
    let span = Span {
        voice: VoiceId {
            peer: PeerId(3),
            incarnation: 9,
        },
        slip: Duration::from_micros(77),
        from: Tick(100),
        to: Tick(104),
        predicting: true,
        initiative: Some(PlayerId(0)),
        changes: vec![
            (Tick(100), Change::Join(PlayerId(1))),
            (
                Tick(102),
                Change::Voice(
                    VoiceId {
                        peer: PeerId(4),
                        incarnation: 2,
                    },
                    vec![PlayerId(5), PlayerId(6)],
                ),
            ),
            (Tick(103), Change::Leave(PlayerId(9))),
        ],
        entries: Entries(&entries),
    };
    let bytes = Message::Span(span.clone()).write();
    assert_eq!(bytes, vector("lockstep.span"));
    assert_eq!(Message::read(&bytes), Some(Message::Span(span.clone())));
    let mut read = Vec::new();
    span.entries
        .each(|tick, player, input| read.push((tick, player.0, input.to_vec())))
        .unwrap();
    assert_eq!(
        read,
        [
            (0, 0, b"x".to_vec()),
            (3, 2, b"hello".to_vec()),
            (3, 900, b"world".to_vec())
        ]
    );
    for len in 0..bytes.len() {
        if let Some(Message::Span(span)) = Message::read(&bytes[..len]) {
            let _ = span.entries.each(|_, _, _| {});
        }
    }
}

#[test]
fn words_come_back_as_written_and_damaged_ones_are_refused() {
    let mut bytes = Vec::new();
    let begin = Tick(1000);
    Words::begin(Duration::from_micros(77), true, begin, &mut bytes);
    let voice = |peer| VoiceId {
        peer: PeerId(peer),
        incarnation: 300,
    };
    Words::add(&mut bytes, begin, voice(1), (Tick(1050), Tick(1055)), &[]);
    Words::add(
        &mut bytes,
        begin,
        voice(2),
        (Tick(1048), Tick(1053)),
        b"said",
    );
    let message = Message::Words(Words::encoded(&bytes)).write();
    let Some(Message::Words(words)) = Message::read(&message) else {
        panic!("what was written is read");
    };
    let mut read = Vec::new();
    let told = words.each(|span| {
        assert!(span.predicting && span.slip == Duration::from_micros(77));
        read.push((span.voice, span.from.0, span.to.0, span.entries.0.to_vec()));
        Some(())
    });
    assert_eq!(told, Some(()));
    assert_eq!(
        read,
        [
            (voice(1), 1050, 1055, Vec::new()),
            (voice(2), 1048, 1053, b"said".to_vec())
        ]
    );
    for len in 1..message.len() {
        let _ = Message::read(&message[..len]);
    }
    let mut far = bytes[..4].to_vec();
    put_voice(&mut far, voice(1));
    put(&mut far, 2 * MAX_SPAN + 1);
    put(&mut far, 2);
    assert_eq!(Words::read(&far), None);
}

#[test]
fn numbers_beyond_reason_are_refused() {
    assert_eq!(
        Message::read(&[0, 1, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        None
    );
    assert_eq!(Message::read(&[]), None);
    assert_eq!(Message::read(&[99]), None);
    let mut long = vec![0, 1, 0, 0];
    put(&mut long, MAX_SPAN + 1);
    assert_eq!(Message::read(&long), None);
}

#[test]
fn inputs_without_ticks_keep_their_order() {
    let mut bytes = Vec::new();
    let pending = [
        (PlayerId(1), vec![b"a".to_vec(), b"bb".to_vec()]),
        (PlayerId(4), vec![b"c".to_vec()]),
    ];
    write_inputs(&pending, &mut bytes);
    let message = Message::Inputs(Entries(&bytes));
    assert_eq!(message.write(), vector("lockstep.inputs"));
    let mut read = Vec::new();
    Entries(&bytes)
        .each(|_, player, input| read.push((player.0, input.to_vec())))
        .unwrap();
    assert_eq!(
        read,
        [(1, b"a".to_vec()), (4, b"c".to_vec()), (1, b"bb".to_vec())]
    );
}
