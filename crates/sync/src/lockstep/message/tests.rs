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
    let checksum = Fixed(0x0102_0304_0506_0708);
    let (peer, incarnation) = (PeerId(3), 9);
    for (name, message) in [
        ("lockstep.report", report),
        ("lockstep.check", Message::Checksum { tick, checksum }),
        (
            "lockstep.want",
            Message::ResendRequest {
                source: SourceId { peer, incarnation },
                from: Tick(100),
            },
        ),
        ("lockstep.state_request", Message::StateRequest { tick }),
        (
            "lockstep.replacement",
            Message::Replacement {
                tick,
                checkpoint: &[1, 2, 3],
            },
        ),
        (
            "lockstep.delay",
            Message::DelayAnnouncement(DelayAnnouncement {
                need: Duration::from_millis(250),
                delay: Duration::from_millis(80),
            }),
        ),
    ] {
        assert_eq!(message.write(), vector(name), "{name}");
        assert_eq!(Message::read(&vector(name)), Some(message), "{name}");
    }
}

#[test]
fn a_batch_comes_back_as_written() {
    let mut timeline = Timeline::default();
    timeline.begin(Tick(100));
    timeline.insert(Tick(100), PlayerId(0), b"x");
    timeline.insert(Tick(103), PlayerId(2), b"hello");
    timeline.insert(Tick(103), PlayerId(900), b"world");
    timeline.insert(Tick(104), PlayerId(7), b"beyond");
    let mut entries = Vec::new();
    assert_eq!(
        encode_inputs(
            &timeline,
            Tick(100),
            Tick(104),
            |_| true,
            SPLIT_BYTES,
            &mut entries
        ),
        Tick(104)
    );
    let batch = InputBatch {
        source: SourceId {
            peer: PeerId(3),
            incarnation: 9,
        },
        schedule_offset: Duration::from_micros(77),
        from: Tick(100),
        to: Tick(104),
        predicting: true,
        initiative: Some(PlayerId(0)),
        changes: vec![
            (Tick(100), Change::Join(PlayerId(1))),
            (
                Tick(102),
                Change::Source(
                    SourceId {
                        peer: PeerId(4),
                        incarnation: 2,
                    },
                    vec![PlayerId(5), PlayerId(6)],
                ),
            ),
            (Tick(103), Change::Leave(PlayerId(9))),
            (Tick(103), Change::Away(PlayerId(8))),
        ],
        entries: EncodedInputs(&entries),
    };
    let bytes = Message::InputBatch(batch.clone()).write();
    assert_eq!(bytes, vector("lockstep.span"));
    assert_eq!(
        Message::read(&bytes),
        Some(Message::InputBatch(batch.clone()))
    );
    let mut read = Vec::new();
    batch
        .entries
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
        if let Some(Message::InputBatch(batch)) = Message::read(&bytes[..len]) {
            let _ = batch.entries.each(|_, _, _| {});
        }
    }
}

#[test]
fn relayed_batches_come_back_as_written_and_damaged_ones_are_refused() {
    let mut bytes = Vec::new();
    let begin = Tick(1000);
    RelayedBatches::begin(Duration::from_micros(77), true, begin, &mut bytes);
    let source = |peer| SourceId {
        peer: PeerId(peer),
        incarnation: 300,
    };
    RelayedBatches::add(&mut bytes, begin, source(1), (Tick(1050), Tick(1055)), &[]);
    RelayedBatches::add(
        &mut bytes,
        begin,
        source(2),
        (Tick(1048), Tick(1053)),
        b"said",
    );
    let message = Message::RelayedBatches(RelayedBatches::encoded(&bytes)).write();
    let Some(Message::RelayedBatches(batches)) = Message::read(&message) else {
        panic!("what was written is read");
    };
    let mut read = Vec::new();
    let visited = batches.each(|batch| {
        assert!(batch.predicting && batch.schedule_offset == Duration::from_micros(77));
        read.push((
            batch.source,
            batch.from.0,
            batch.to.0,
            batch.entries.0.to_vec(),
        ));
        Some(())
    });
    assert_eq!(visited, Some(()));
    assert_eq!(
        read,
        [
            (source(1), 1050, 1055, Vec::new()),
            (source(2), 1048, 1053, b"said".to_vec())
        ]
    );
    for len in 1..message.len() {
        let _ = Message::read(&message[..len]);
    }
    let mut far = bytes[..4].to_vec();
    source(1).write(&mut far);
    put(&mut far, 2 * MAX_BATCH_TICKS + 1);
    put(&mut far, 2);
    assert_eq!(RelayedBatches::read(&mut Bytes(&far)), None);
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
    put(&mut long, MAX_BATCH_TICKS + 1);
    assert_eq!(Message::read(&long), None);
}

#[test]
fn inputs_without_ticks_keep_their_order() {
    let mut bytes = Vec::new();
    let pending = [
        (PlayerId(1), vec![b"a".to_vec(), b"bb".to_vec()]),
        (PlayerId(4), vec![b"c".to_vec()]),
    ];
    encode_pending(&pending, &mut bytes);
    let message = Message::Inputs(EncodedInputs(&bytes));
    assert_eq!(message.write(), vector("lockstep.inputs"));
    let mut read = Vec::new();
    EncodedInputs(&bytes)
        .each(|_, player, input| read.push((player.0, input.to_vec())))
        .unwrap();
    assert_eq!(
        read,
        [(1, b"a".to_vec()), (4, b"c".to_vec()), (1, b"bb".to_vec())]
    );
}
