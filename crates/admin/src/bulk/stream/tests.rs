use super::*;

const PACE: Pace = Pace { chunk: 3, in_flight: 2, event: Some(Event::UserCreated) };

/// Doubles the number of each line; a line `0` is refused.
async fn double(chunk: Vec<Line>) -> Vec<Done> {
    let mut batch = Batch::new();
    for line in chunk {
        let number = fields(line).and_then(|mut fields| fields.require::<u64>("n"));
        batch.push(number.and_then(|n| if n == 0 { Err(AdminError::invalid("n is 0")) } else { Ok(n) }));
    }
    // Later chunks finish first.
    if batch.items.first() == Some(&1) {
        tokio::task::yield_now().await;
    }
    let doubled: Vec<Done> = batch.take().into_iter().map(|n| Ok(json!({ "n": n * 2 }))).collect();
    batch.settle(Ok(doubled))
}

async fn through(input: Body) -> (Counts, Vec<Value>) {
    let (sender, mut receiver) = mpsc::channel(BUFFERED);
    let counts = run(input, PACE, double, (sender, &Records::default())).await;
    let mut text = Vec::new();
    while let Some(part) = receiver.recv().await {
        text.extend_from_slice(&part.expect("sent"));
    }
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    (counts, lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect())
}

#[tokio::test]
async fn every_line_is_answered_in_order() {
    let input: String = (1..=10).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let (counts, answers) = through(Body::from(input)).await;
    assert_eq!(counts, Counts { done: 10, refused: 0 });
    let expected: Vec<Value> = (1..=10).map(|n| json!({ "n": n * 2 })).collect();
    assert_eq!(answers, expected);
}

#[tokio::test]
async fn a_bad_line_is_answered_in_its_place_and_by_its_number() {
    let (counts, answers) =
        through(Body::from("{\"n\":1}\n\nnot json\n{\"n\":0}\n[]\n{\"n\":\"x\"}\n{\"n\":5}")).await;
    assert_eq!(counts, Counts { done: 2, refused: 4 });
    let lines: Vec<Option<u64>> = answers.iter().map(|answer| answer["line"].as_u64()).collect();
    assert_eq!(lines, [None, Some(3), Some(4), Some(5), Some(6), None]);
    assert!(answers.iter().skip(1).take(4).all(|answer| answer["error"] == "invalid_request"));
}

#[tokio::test]
async fn a_body_that_breaks_off_says_where() {
    struct Broken(u8);
    impl hyper::body::Body for Broken {
        type Data = Bytes;
        type Error = io::Error;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            self.0 += 1;
            Poll::Ready(Some(match self.0 {
                1 => Ok(Frame::data(Bytes::from_static(b"{\"n\":1}\n"))),
                _ => Err(io::Error::other("reset")),
            }))
        }
    }
    let (_, answers) = through(Body::new(Broken(0))).await;
    assert_eq!(answers.first(), Some(&json!({ "n": 2 })));
    assert_eq!(answers.last().map(|answer| &answer["line"]), Some(&json!(2)));
    assert_eq!(answers.len(), 2);
}

#[tokio::test]
async fn a_reader_that_left_ends_the_work() {
    let (sender, receiver) = mpsc::channel(1);
    drop(receiver);
    let input: String = (1..=100).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let counts = run(Body::from(input), PACE, double, (sender, &Records::default())).await;
    assert!(counts.done < 100);
}

#[test]
fn a_failed_batch_fails_its_lines_alone() {
    let mut batch = Batch::new();
    batch.push(Ok(1));
    batch.push(Err(AdminError::invalid("bad")));
    let failed: Result<Vec<Done>, _> = Err(AdminError::internal("secret reason"));
    let settled = batch.settle(failed);
    let codes: Vec<&str> =
        settled.iter().filter_map(|done| done.as_ref().err()).map(|error| error.told().0).collect();
    assert_eq!(codes, ["server_error", "invalid_request"]);
    assert!(
        settled.iter().filter_map(|done| done.as_ref().err()).all(|error| !error.told().1.contains("secret"))
    );
}
