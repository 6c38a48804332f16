//! Invitations, and where sessions began, in a store that moves.

use std::net::IpAddr;

use symbolon_protocol::session::SessionId;
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::sign_in::invitation::KeptInvitation;
use symbolon_protocol::time::Timestamp;

use crate::contract::Scene;
use crate::contract::invitation::invitation;
use crate::contract::sample::{MINUTE, session};
use crate::port::InvitationKeeping;

/// The newest first: one that may be used, and one that was.
pub(super) fn planted_invitations(now: Timestamp) -> [KeptInvitation; 2] {
    let used = KeptInvitation { used_at: Some(now), ..invitation("used", now) };
    [invitation("open", now + MINUTE), used]
}

pub(super) async fn plant_invitations(scene: &Scene) {
    let Scene { store, issuer: one, now, .. } = scene;
    for kept in [invitation("used", *now), invitation("open", *now + MINUTE)] {
        assert_eq!(store.keep_invitation(one, kept, 2).await.unwrap(), InvitationKeeping::Kept);
    }
    assert!(store.use_invitation(one, "used", *now).await.unwrap());
}

/// Where a live session began: of every third one it was not noted.
pub(super) fn origin_of(number: usize) -> Option<SessionOrigin> {
    let address = Some(IpAddr::from([192, 0, 2, u8::try_from(number).unwrap()]));
    let device = (number % 3 == 1).then(|| "Firefox · Linux".to_owned());
    (!number.is_multiple_of(3)).then_some(SessionOrigin { device, address })
}

pub(super) async fn note_origin(scene: &Scene, id: &SessionId, number: usize) {
    let Scene { store, issuer: one, now, .. } = scene;
    if let Some(origin) = origin_of(number) {
        store.note_origin(one, &session(one, id, "ann", *now), &origin).await.unwrap();
    }
}
