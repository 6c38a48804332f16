//! Codes sent by e-mail: five tries, one use, one recipient.

use std::sync::Arc;

use symbolon_protocol::sign_in::email_code::TRIES;
use symbolon_protocol::sign_in::email_code_use::{EmailCodeTry, Recipient};
use symbolon_protocol::time::KEPT_AFTER_END;

use super::sample::MINUTE;
use super::{BackEnd, Scene, race, race_for_one, told};

const ANN: Recipient = Recipient([1; 16]);
const BOB: Recipient = Recipient([2; 16]);

pub async fn all(back_end: &dyn BackEnd) {
    leads_to_its_recipient_and_is_used_once(back_end).await;
    ends_and_survives(back_end).await;
    is_used_by_one_racer(back_end).await;
    has_as_many_tries_as_it_has_however_many_race(back_end).await;
    has_one_recipient_whoever_races(back_end).await;
}

async fn leads_to_its_recipient_and_is_used_once(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "email-code").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let end = *now + 5 * MINUTE;
    let attempt =
        async |id: &str, is_right| told(store.try_email_code(issuer, (id, end), is_right).await).await;
    let mailed = async |id: &str, to| told(store.note_recipient(issuer, (id, end), to).await).await;
    mailed("mailed", ANN).await;
    mailed("mailed", BOB).await;
    for left in (1..TRIES).rev() {
        assert_eq!(attempt("mailed", false).await, EmailCodeTry::Wrong { left });
    }
    assert_eq!(attempt("mailed", true).await, EmailCodeTry::Right { recipient: Some(ANN) });
    assert_eq!(attempt("mailed", true).await, EmailCodeTry::UsedUp);
    assert_eq!(attempt("mailed", false).await, EmailCodeTry::UsedUp);

    for left in (0..TRIES).rev() {
        assert_eq!(attempt("guessed", false).await, EmailCodeTry::Wrong { left });
    }
    assert_eq!(attempt("guessed", true).await, EmailCodeTry::UsedUp, "right, but too late");

    assert_eq!(attempt("late", false).await, EmailCodeTry::Wrong { left: TRIES - 1 });
    mailed("late", BOB).await;
    assert_eq!(attempt("late", true).await, EmailCodeTry::Right { recipient: Some(BOB) });

    assert_eq!(attempt("nobody", true).await, EmailCodeTry::Right { recipient: None });
    mailed("nobody", ANN).await;
    assert_eq!(attempt("nobody", true).await, EmailCodeTry::UsedUp, "it was used before it was mailed");

    let of_other = told(store.try_email_code(other, ("mailed", end), true).await).await;
    assert_eq!(of_other, EmailCodeTry::Right { recipient: None }, "issuers share no code");
}

async fn ends_and_survives(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "email-code-end").await;
    let Scene { store, issuer, now, .. } = &scene;
    let end = *now + 5 * MINUTE;
    told(store.note_recipient(issuer, ("used", end), ANN).await).await;
    told(store.try_email_code(issuer, ("used", end), true).await).await;
    told(store.note_recipient(issuer, ("live", end), ANN).await).await;
    told(store.try_email_code(issuer, ("live", end), false).await).await;
    assert_eq!(store.sweep(end + KEPT_AFTER_END - MINUTE).await.unwrap(), 0, "nothing goes early");
    let after = back_end.after_crash("email-code-end").await;
    let attempt =
        async |id: &str, is_right| told(after.try_email_code(issuer, (id, end), is_right).await).await;
    assert_eq!(attempt("used", true).await, EmailCodeTry::UsedUp);
    assert_eq!(attempt("live", true).await, EmailCodeTry::Right { recipient: Some(ANN) });
    if scene.forgets {
        assert_eq!(after.sweep(end + KEPT_AFTER_END).await.unwrap(), 2);
    }
}

async fn is_used_by_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "email-code-race").await;
    race_for_one("try_email_code", |round, _| {
        let (store, issuer, end) = (Arc::clone(&scene.store), scene.issuer.clone(), scene.now + MINUTE);
        async move {
            let tried = store.try_email_code(&issuer, (&format!("code-{round}"), end), true).await;
            matches!(told(tried).await, EmailCodeTry::Right { .. })
        }
    })
    .await;
}

/// One racer in ten has the right code: whoever comes first, no more are told anything than there are tries.
async fn has_as_many_tries_as_it_has_however_many_race(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "email-code-guesses").await;
    let rounds =
        race(|round, racer| {
            let (store, issuer, end) = (Arc::clone(&scene.store), scene.issuer.clone(), scene.now + MINUTE);
            let is_right = round % 2 == 0 && racer % 10 == 5;
            async move {
                told(store.try_email_code(&issuer, (&format!("code-{round}"), end), is_right).await).await
            }
        })
        .await;
    for (round, outcomes) in rounds.into_iter().enumerate() {
        let mut left: Vec<u8> = outcomes
            .iter()
            .filter_map(|tried| match tried {
                EmailCodeTry::Wrong { left } => Some(*left),
                _ => None,
            })
            .collect();
        left.sort_unstable_by(|one, other| other.cmp(one));
        let right = outcomes.iter().filter(|tried| matches!(tried, EmailCodeTry::Right { .. })).count();
        let counted: Vec<u8> = (0..TRIES).rev().take(left.len()).collect();
        assert_eq!(left, counted, "round {round}: each try is told once, from the first on");
        assert!(right + left.len() <= usize::from(TRIES) && right <= 1, "round {round}: {right} {left:?}");
        assert!(right == 1 || left.len() == usize::from(TRIES), "round {round}: {right} {left:?}");
    }
}

async fn has_one_recipient_whoever_races(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "email-code-recipients").await;
    let noted = race(|round, racer| {
        let (store, issuer, end) = (Arc::clone(&scene.store), scene.issuer.clone(), scene.now + MINUTE);
        let recipient = if racer % 2 == 0 { ANN } else { BOB };
        async move {
            told(store.note_recipient(&issuer, (&format!("code-{round}"), end), recipient).await).await;
            told(store.try_email_code(&issuer, (&format!("code-{round}"), end), racer == 0).await).await
        }
    })
    .await;
    for (round, outcomes) in noted.into_iter().enumerate() {
        let nobody = EmailCodeTry::Right { recipient: None };
        assert!(!outcomes.contains(&nobody), "round {round}: a recipient was noted before");
    }
}
