//! Forms that are sent twice: the button was pressed again before the answer came, so the browser has given it up.
//!
//! What the first form used up, the second one finds used. That is no mistake of the person's: what the first form led to is looked
//! for, and its answer given again. Nothing is proven less by it: the second form brings the same code, in the same browser.

use std::time::Duration;

use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::user::User;

use crate::interaction::{Interaction, Pending};
use crate::session_begin::Begun;
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::{Context, Failure, Received};

/// How often the result of the first form is looked for, which may still be under way.
const LOOKS: u32 = 40;
/// The pause between two looks: two seconds in all.
const PAUSE: Duration = Duration::from_millis(50);

/// The looks that are left.
pub(super) struct Looks(u32);

impl Looks {
    pub(super) const fn begin() -> Self {
        Self(LOOKS)
    }

    /// After a look that found nothing: whether to look again, when the pause is over.
    pub(super) async fn again(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        if self.0 > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        self.0 > 0
    }
}

/// The session that the first form of an interaction began for a user, and the cookies that bring it into the browser; `None` if
/// there is none, it has ended, or the form was sent too often.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn begun<P: Pending>(
    (context, received): (&Context, &Received),
    interaction: &Interaction<P>,
    user: &User,
) -> Result<Option<Begun>, Failure> {
    let Context { app, issuer, remote, .. } = context;
    if app.rate_limits.form_sent_again(&issuer.id, &user.id, *remote, app.now()).is_err() {
        let refusal = Refusal::about(Reason::SignInRateLimited, Details::of_user(&user.id));
        context.refused(RefusedRequest::anonymous(refusal, None));
        return Ok(None);
    }
    let id = interaction.session_id(context, &user.id);
    let mut looks = Looks::begin();
    loop {
        if let Some(session) = app.store.session(&issuer.id, &id, app.now()).await?.told().await? {
            return Ok(Some(Begun::before(context, received, id, &session, Some(user))));
        }
        if !looks.again().await {
            return Ok(None);
        }
    }
}
