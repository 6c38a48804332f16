//! The closed list of reasons: for each its name, what it means, and what mends it.
//!
//! `docs/reference/failures.md` is generated from this table.

use serde::{Deserialize, Serialize};

use super::Area;

macro_rules! reasons {
    ($($area:ident { $($variant:ident $name:literal $cause:literal $mend:literal;)* })*) => {
        /// Why a request was refused. Never sent to whoever made the request: what a client or a person is told is an
        /// [`OAuthError`](crate::error::OAuthError) or a page, which often says less on purpose.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[doc = $cause] #[serde(rename = $name)] $variant,)*)*
        }

        impl Reason {
            /// Every reason, in the order of the discriminants.
            pub const ALL: &'static [Self] = &[$($(Self::$variant,)*)*];

            /// The name in the request log, the audit log and the admin API.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name,)*)* }
            }

            /// The part of the protocol in which it occurs.
            pub const fn area(self) -> Area {
                match self { $($(Self::$variant => Area::$area,)*)* }
            }

            /// What went wrong, in one sentence.
            pub const fn cause(self) -> &'static str {
                match self { $($(Self::$variant => $cause,)*)* }
            }

            /// What to do about it.
            pub const fn mend(self) -> &'static str {
                match self { $($(Self::$variant => $mend,)*)* }
            }
        }
    };
}

reasons! {
    Request {
        RequestTooLong "request_too_long"
            "The query or form has more than 64 KiB or more than 256 parameters."
            "Send fewer or shorter parameters.";
        FormMalformed "form_malformed"
            "The parameters are not valid `application/x-www-form-urlencoded` text in UTF-8."
            "Encode names and values by the library of the client: `%` and two hexadecimal digits for each byte that is not plain.";
        NotAForm "not_a_form"
            "The body has another `Content-Type` than `application/x-www-form-urlencoded`."
            "Send a form, not JSON, and name its type in `Content-Type`.";
        NotJson "not_json"
            "The body is not a JSON object, or its `Content-Type` is not `application/json`."
            "Send a JSON object, and name its type in `Content-Type`.";
        MemberInvalid "member_invalid"
            "A member of the JSON body is missing, or is not what it must be."
            "The answer names the member.";
        OriginNotAllowed "origin_not_allowed"
            "The login API was called by a page whose origin is not allowed, or without an `Origin` header."
            "Add the application's origin to the issuer's setting `login_api_origins`.";
        BodyTooLong "body_too_long"
            "The body is longer than a request may be."
            "Send less; `http.max_body` is the bound.";
        BodyIncomplete "body_incomplete"
            "The body did not arrive whole: the connection ended, or it came too slowly."
            "Look at the network and the proxies between the client and the provider; `http.request_timeout` is the time that a body has.";
        MethodNotAllowed "method_not_allowed"
            "The endpoint does not take this HTTP method."
            "Use a method of the answer's `Allow`: token requests are POST.";
        ParameterRepeated "parameter_repeated"
            "A parameter was sent more than once."
            "Send each parameter once. A proxy or a library may add it to a URL that has it already.";
        ParameterMissing "parameter_missing"
            "A parameter that this request needs was not sent, or was sent empty."
            "Send the parameter. For a POST it belongs into the body, not into the query.";
        AddressRateLimited "address_rate_limited"
            "Too many requests came from this address."
            "Wait for as long as `Retry-After` says. Where many people share the address, list the proxy under `trusted_proxies` or raise the limit per address.";
        ClientRateLimited "client_rate_limited"
            "The client made too many requests."
            "Wait for as long as `Retry-After` says, reuse tokens until they expire, or raise the limit per client.";
        UserRateLimited "user_rate_limited"
            "The client asked too often about one user."
            "Keep the answer for a while instead of asking again, or raise `rate_limit.userinfo.user`.";
        Unavailable "unavailable"
            "The provider could not answer for the moment: it was overloaded, or its store was out of reach or full."
            "Try again. If it lasts, look at `/readyz` and the process's log at this time.";
        ServerFault "server_fault"
            "Something failed inside the provider."
            "Search the process's log for the request id: one line says what failed.";
    }
    Client {
        ClientUnknown "client_unknown"
            "No client is registered under the `client_id` that was sent."
            "Compare it with `symbolon client list`, also for upper and lower case; look whether the request went to the right issuer; register the client with `symbolon client create`.";
        ClientNotNamed "client_not_named"
            "The request names no client: it has neither an `Authorization` header nor a usable `client_id`."
            "Send the client's credentials by HTTP Basic, or `client_id` (and `client_secret`) in the form.";
        ClientSecretWrong "client_secret_wrong"
            "The client secret is not one of the client's, or its time is over."
            "Configure the client with its present secret: look for a cut, a space or a line break, or one that was replaced (`symbolon client show CLIENT` lists them). `symbolon client new-secret CLIENT --keep-old 24h` draws another beside it.";
        ClientAuthenticationMissing "client_authentication_missing"
            "The client is registered with a credential, but sent only its `client_id`."
            "Configure the secret or key at the client; register it with `token_endpoint_auth_method` `none` if it cannot keep a secret.";
        ClientAuthenticationMethodOther "client_authentication_method_other"
            "The client authenticated by another method than the registered `token_endpoint_auth_method`."
            "Configure the client for the registered method, or register the method that it uses.";
        ClientCredentialsMalformed "client_credentials_malformed"
            "The `Authorization` header is not HTTP Basic with `client_id:client_secret`."
            "Send `Basic` and the Base64 of the id, a colon and the secret; not `Bearer`, and no other scheme.";
        ClientAuthenticatedTwice "client_authenticated_twice"
            "The request has more than one client authentication."
            "Send the secret either in the header or in the form, not in both (RFC 6749 2.3).";
        ClientIdContradicts "client_id_contradicts"
            "The parameter `client_id` names another client than the credentials."
            "Send the same `client_id` in both places, or leave the parameter out.";
        AssertionMalformed "assertion_malformed"
            "The `client_assertion` is not a signed JWT with the claims `iss`, `sub`, `aud` and `exp`."
            "Send a JWS in compact form; `exp`, `iat` and `nbf` are numbers of seconds.";
        AssertionTypeWrong "assertion_type_wrong"
            "`client_assertion` and `client_assertion_type` do not belong together."
            "Send both, the type being `urn:ietf:params:oauth:client-assertion-type:jwt-bearer`.";
        AssertionKeyUnknown "assertion_key_unknown"
            "No registered key of the client has the `kid` and algorithm of the assertion."
            "Register the client's present public keys in `jwks`, or sign with one that is registered.";
        AssertionAlgorithmOther "assertion_algorithm_other"
            "The assertion is signed with another algorithm than the registered `token_endpoint_auth_signing_alg`."
            "Sign with the registered algorithm, or register the one that the client uses.";
        AssertionSignatureWrong "assertion_signature_wrong"
            "No registered key of the client verifies the signature of the assertion."
            "Register the public half of the key that signs; look whether the client's key was replaced.";
        AssertionTypWrong "assertion_typ_wrong"
            "The header `typ` of the assertion is for another kind of JWT."
            "Leave `typ` out, or send `JWT` or `client-authentication+jwt`.";
        AssertionSubjectWrong "assertion_subject_wrong"
            "`iss` and `sub` of the assertion are not both the `client_id`."
            "Set both claims to the `client_id`.";
        AssertionAudienceWrong "assertion_audience_wrong"
            "The `aud` of the assertion is not this issuer alone."
            "Set `aud` to the issuer's URL, exactly as discovery has it; a list may have this one member only.";
        AssertionExpired "assertion_expired"
            "The assertion has expired, or was issued more than five minutes ago."
            "Make a new assertion for each request, and set the client's clock.";
        AssertionLivesTooLong "assertion_lives_too_long"
            "The assertion has no `iat`, and its `exp` is more than five minutes ahead."
            "Add `iat`, or let the assertion expire within five minutes.";
        AssertionNotYetValid "assertion_not_yet_valid"
            "`nbf` or `iat` of the assertion is in the future."
            "Set the client's clock: more than 30 seconds ahead are refused.";
        AssertionJtiMissing "assertion_jti_missing"
            "The assertion has no `jti` of at most 512 visible characters."
            "Add a `jti`, a new one for each assertion.";
        AssertionReplayed "assertion_replayed"
            "The assertion was used before."
            "Make a new assertion with its own `jti` for each request, also when a request is repeated.";
        PublicClientRefused "public_client_refused"
            "A public client asked for something that only confidential clients may do."
            "Register the client with a secret or a key if it can keep one.";
        GrantTypeNotRegistered "grant_type_not_registered"
            "The client is not registered for this grant type."
            "Add the grant type to the client's `grant_types`.";
        ClientMetadataInvalid "client_metadata_invalid"
            "A member of the client's metadata is not valid."
            "Correct the member that the answer names.";
    }
    Authorization {
        RedirectUriMissing "redirect_uri_missing"
            "The request has no `redirect_uri`."
            "Send `redirect_uri` in every request, also where only one is registered.";
        RedirectUriNotRegistered "redirect_uri_not_registered"
            "The `redirect_uri` is none of the client's: it must be the same text, but for what a loopback address or one of the client's `redirect_uri_forms` leaves open."
            "Send a registered URI exactly as it is registered, or add the one that is sent to the client's `redirect_uris`.";
        StateTooLong "state_too_long"
            "`state` has more than 4 KiB as an address has it."
            "Keep what `state` stands for at the client, and send a short key to it.";
        ResponseModeUnsupported "response_mode_unsupported"
            "`response_mode` is not `query`, `fragment` or `form_post`."
            "Send one of the three, or leave it out.";
        ResponseModeNeedsHttp "response_mode_needs_http"
            "`form_post` was asked for, and the redirect URI is not one of http or https."
            "Leave `response_mode` out: an application's own scheme cannot receive a form.";
        RequestParameterUnsupported "request_parameter_unsupported"
            "The request uses `request`, `request_uri` or `registration`, which are not supported."
            "Send the parameters themselves; switch request objects off at the client.";
        ResponseTypeUnsupported "response_type_unsupported"
            "`response_type` is not `code`."
            "Configure the client for the authorization code flow: `response_type=code`.";
        PromptInvalid "prompt_invalid"
            "`prompt` has a value that is not supported, or `none` together with another."
            "Send `none` alone, or any of `login`, `consent` and `select_account`.";
        MaxAgeMalformed "max_age_malformed"
            "`max_age` is not a number of seconds."
            "Send a whole number without a sign.";
        NonceTooLong "nonce_too_long"
            "`nonce` has more than 2 KiB."
            "Send a short random text.";
        ScopeMalformed "scope_malformed"
            "`scope` has characters that a scope cannot have, or more than 2 KiB."
            "Separate the names by one space each; quotation marks, backslashes and characters beyond ASCII are not allowed.";
        ScopeMissing "scope_missing"
            "The request has no `scope`, and the client is registered for none that could stand in for it."
            "Send `scope`, or register the client for a scope besides `offline_access`.";
        ScopeNotRegistered "scope_not_registered"
            "The request asks for a scope that the client is not registered for."
            "Add what is missing to the client's `scope`, or ask for less.";
        PkceMissing "pkce_missing"
            "The client must use PKCE, and sent no `code_challenge`."
            "Switch PKCE (S256) on at the client. A confidential client that cannot may be let off by its setting `pkce`: `or_nonce` or `optional`.";
        PkceOrNonceMissing "pkce_or_nonce_missing"
            "The client must use PKCE or, in a request with the scope `openid`, a `nonce`; it sent neither."
            "Switch PKCE (S256) or the nonce on at the client. A client that can do neither may be let off by its setting `pkce`: `optional`.";
        PkceMethodUnsupported "pkce_method_unsupported"
            "`code_challenge_method` is not `S256`; without it the method would be `plain`."
            "Send `code_challenge_method=S256`.";
        PkceChallengeMalformed "pkce_challenge_malformed"
            "`code_challenge` is not a SHA-256 in base64url: 43 characters without padding."
            "Send BASE64URL(SHA256(code_verifier)) without `=` at its end.";
        ResourceMalformed "resource_malformed"
            "A `resource` or `audience` is empty, no absolute URI, or has a fragment."
            "Send absolute URIs without `#` (RFC 8707 2).";
        ResourceTooMany "resource_too_many"
            "The request names more resources or audiences than are allowed."
            "Ask for fewer at once, or raise `token_exchange_max_targets`.";
        ResourceNotRegistered "resource_not_registered"
            "The client may not name this `resource` or `audience`."
            "Add it to the client's `access_token_audiences`, or ask for one of those.";
        SessionMissing "session_missing"
            "`prompt=none` was sent, and nobody is signed in in this browser."
            "Send the person through a request without `prompt=none`. In a frame of another site, look whether the browser sends the provider's cookie there.";
        AccountNotSelected "account_not_selected"
            "`prompt=none` was sent, and of the accounts that are signed in in this browser none is in use: the one last chosen has been signed out."
            "Send the person through a request without `prompt=none`, or name the account by `id_token_hint`.";
        SessionOfOtherUser "session_of_other_user"
            "The user that `id_token_hint` names is not signed in in this browser, and another one is."
            "Send the person through a request with `prompt=login`, or drop the old ID token.";
        SignInTooOld "sign_in_too_old"
            "`prompt=none` was sent, and `max_age` or the client's `default_max_age` asks for a newer sign-in."
            "Send the person through a request without `prompt=none`, or allow a longer `max_age`.";
        IdTokenHintUnverifiable "id_token_hint_unverifiable"
            "`id_token_hint` is not an ID token that this issuer signed with a key that it still has."
            "Send an ID token of this issuer, not an access token; drop those from before the keys were revoked.";
        ConsentMissing "consent_missing"
            "`prompt=none` was sent, and the person has not consented to all of the scope yet."
            "Send the person through a request without `prompt=none`, or set `skip_consent` for an application of your own.";
        ScopeNotGrantable "scope_not_grantable"
            "Nothing of the scope can be granted here: `offline_access` alone needs the grant type `refresh_token` and a consent."
            "Ask for `openid` too, and add the grant type `refresh_token` to the client.";
        UserRefused "user_refused"
            "The person cancelled at the login page, or did not consent."
            "Nothing is broken. Look at what the consent page asks for if it happens often.";
        CodesTooMany "codes_too_many"
            "This user was issued too many authorization codes lately."
            "Look for a loop: a client that begins again at each error. `rate_limit.authorize.user` is the limit.";
        RequestTooLongForPage "request_too_long_for_page"
            "The request needs a page, and has more than 8 KiB."
            "Send shorter parameters: `state`, `login_hint` and `claims` are the usual cause.";
        PageNotOurs "page_not_ours"
            "The address or form of a page was not made by this provider, or was made under another key."
            "Begin again at the application. A bookmark of the login page, or an address that was cut, does this.";
        PageFormExpired "page_form_expired"
            "The form of the consent or logout page was not accepted: the session has ended or another user has signed in since the page was shown, its cookie is missing, or it came from another site."
            "Let the person decide on the page that is shown next. If it lasts, look whether the browser keeps the provider's cookies and a proxy changes `Origin` or `Host`.";
        PageFormInvalid "page_form_invalid"
            "The form of a page was sent with a decision that the page does not offer."
            "Use the page's own buttons; look for a browser extension that changes forms.";
    }
    SignIn {
        LoginNameUnknown "login_name_unknown"
            "No user has the login name that was typed."
            "Search the user (`symbolon user list --search TEXT`): people type another address than the registered one, or sign in at the wrong issuer.";
        PasswordWrong "password_wrong"
            "The password is not the user's."
            "Let the person try again, or set a new one with `symbolon user set-password`.";
        PasswordNotSet "password_not_set"
            "The user has no password."
            "Set one with `symbolon user set-password`.";
        UserDeactivated "user_deactivated"
            "The user is deactivated."
            "`symbolon user enable USER`, if the person shall sign in again.";
        SignInRateLimited "sign_in_rate_limited"
            "Too many attempts were made for this name or from this address; the password was not looked at."
            "Wait for as long as the page says. Many failures of one address may be an attack, or people behind one address that is not in `trusted_proxies`.";
        SignInBusy "sign_in_busy"
            "Too many passwords waited to be checked."
            "Try again. If it lasts, give the provider more processors, or raise `argon2.queue`.";
        SignInFormExpired "sign_in_form_expired"
            "The login form, or the challenge of the login API's second step, was not accepted: it is too old, or its cookie is missing, or it came from another site, or it was answered already."
            "Let the person send the form again, or begin again in the application. If it lasts, look whether the browser keeps the provider's cookies and a proxy changes `Origin` or `Host`.";
        SignInMethodOff "sign_in_method_off"
            "Somebody tried to sign in by a method that the issuer does not offer."
            "Add it to the issuer's setting `sign_in_methods`, or let the person reload the page: it shows those that are offered.";
        SecondFactorWrong "second_factor_wrong"
            "The first factor was right, and the code is neither a current one of the user's generator nor an unused recovery code."
            "Let the person wait for the next code: each counts once. If none is right, the clock of the phone may be wrong. If phone and recovery codes are lost, remove the generator with `symbolon user authenticators USER --remove totp`.";
        EmailCodeWrong "email_code_wrong"
            "The code is not the one that was sent, or nobody has the address that was typed."
            "Let the person look at the latest mail, and at the address.";
        EmailCodeExpired "email_code_expired"
            "The code was sent too long ago: it is valid for five minutes at the login API, and for ten on the pages."
            "Let the person have a new code sent. If mails take that long, look at the mail server.";
        EmailCodeOtherAddress "email_code_other_address"
            "The code was sent to another address than the one that came with it."
            "Send the address for which the code was asked.";
        EmailCodeUsedUp "email_code_used_up"
            "The code was tried five times, or it has signed in already."
            "Let the person have a new code sent. Many of these at one account may be an attack.";
        EmailCodeOtherBrowser "email_code_other_browser"
            "The browser has no cookie of a code that was sent: it is another one, or it keeps no cookies."
            "Use the browser that asked for the code. Scripts must send their requests with credentials.";
        IdentityProviderOff "identity_provider_off"
            "Somebody tried to sign in by another provider that the issuer does not have, or that is not enabled."
            "Add or enable it (`/api/admin/identity-providers`), or let the person reload the page: it shows those that are offered.";
        IdentityProviderState "identity_provider_state"
            "The answer of another provider does not belong to a sign-in that this browser began here with this provider in the last ten minutes, or it came a second time."
            "Let the person begin again in one browser. If it lasts, look whether the browser keeps the provider's cookies. Many of these may be an attack.";
        IdentityProviderRefused "identity_provider_refused"
            "The other provider did not sign the person in: they cancelled, or it answered with an error."
            "Nothing is broken if they cancelled. Otherwise compare client id, redirect URI and scopes with what is registered there.";
        IdentityProviderUnusable "identity_provider_unusable"
            "The other provider could not be asked who the person is, or did not answer as it must."
            "The log names what failed. Look at its issuer, client id and secret, and whether this server may call it (`outbound.allow_private`).";
        IdentityTokenWrong "identity_token_wrong"
            "What the other provider said of the person does not hold: signature, issuer, audience, time or nonce of its ID token."
            "The log names what is wrong. Look at the clocks, and at the issuer and client id; if both are right, it may be an attack.";
        IdentityNotConnected "identity_not_connected"
            "Another provider signed somebody in with whom no account is connected, and none may be made or connected by it."
            "Let the person sign in another way and connect it on the account page, or set `sign_up` or `link_by_verified_email` of the identity provider.";
        PasskeyChallengeUnknown "passkey_challenge_unknown"
            "The challenge is not one of this issuer's, is too old (five minutes, on pages ten), was answered already, or was given to another page or for something else."
            "Ask for new options and answer them at once, from the page that asked.";
        PasskeyUnknown "passkey_unknown"
            "Nobody has this passkey, or the account that was named is another's."
            "The person may have removed it from the account but not from the device: sign in another way and add it again.";
        PasskeyWrong "passkey_wrong"
            "The authenticator's answer does not verify: it has a wrong form or signature, or is for another origin or relying party."
            "Look at the application: it must pass on the options and the credential unchanged. The relying party is the issuer's host.";
        PasskeyNotVerified "passkey_not_verified"
            "The authenticator did not verify the person by a PIN, a finger or the like."
            "Use an authenticator that can, and set it up.";
        PasskeyCounterWentBack "passkey_counter_went_back"
            "The signature counter of the passkey is not higher than at its last use: somebody may have a copy of the authenticator."
            "Remove the passkey from the account, and ask its owner.";
        PasskeyNotAllowed "passkey_not_allowed"
            "A passkey was to be added without a fresh sign-in at this account."
            "Let the person sign in again, and add the passkey within ten minutes.";
        PasskeyNoRoom "passkey_no_room"
            "The account has as many passkeys as it may have, or an id that is too long for a passkey."
            "Remove passkeys that are not used any more. An account can have passkeys if its id has 64 characters at most.";
        SecondFactorNeeded "second_factor_needed"
            "The user, the issuer or the client requires a second factor, and the sign-in had only one."
            "Let the person sign in at the login page, or set a second factor up at `/account/security`; a silent request cannot ask for it.";
        SignInOvertaken "sign_in_overtaken"
            "While the password was being checked it was changed, or the user was deactivated or deleted."
            "Sign in again with the new password.";
    }
    Grant {
        GrantTypeUnsupported "grant_type_unsupported"
            "`grant_type` is not one that this provider knows."
            "Use `authorization_code`, `refresh_token`, `client_credentials` or token exchange.";
        CodeNotOurs "code_not_ours"
            "The `code` does not have the form of a code of this provider."
            "Send the parameter `code` of the redirect unchanged; look whether it was decoded twice or cut.";
        CodeExpired "code_expired"
            "The code is not there any more: it expired before it was redeemed, or the provider was restarted since."
            "Redeem the code at once: it lives for a minute by default (`lifetimes.code`). Look at delays between the redirect and the token request.";
        CodeUsed "code_used"
            "The code was redeemed before. Everything that was issued for it has been revoked."
            "Redeem a code once. Look for a page that is reloaded, a request that is repeated, or two servers of the application that share no state.";
        CodeRevoked "code_revoked"
            "The session, user, client or consent that the code rests on has ended since it was issued."
            "Send the person through a new authorization request.";
        CodeOfOtherClient "code_of_other_client"
            "The code was issued to another client."
            "Redeem the code with the `client_id` of the authorization request.";
        CodeRedirectUriOther "code_redirect_uri_other"
            "`redirect_uri` is not the one of the authorization request."
            "Send the same URI in both requests, character by character.";
        PkceVerifierMissing "pkce_verifier_missing"
            "The code was requested with PKCE, and the token request has no `code_verifier`."
            "Send the `code_verifier` that the challenge was made of; look whether it was lost between the two requests.";
        PkceVerifierWrong "pkce_verifier_wrong"
            "`code_verifier` does not fit the `code_challenge` of the authorization request."
            "Keep one verifier per authorization request: two tabs, or two requests at once, must not share one.";
        PkceVerifierUnexpected "pkce_verifier_unexpected"
            "`code_verifier` was sent, but the code was requested without a `code_challenge`."
            "Send both or neither. If the client did send a challenge, somebody took it off on the way.";
        ScopeNoLongerRegistered "scope_no_longer_registered"
            "The client may have nothing of the granted scope any more."
            "Give the client its scope back, or send the person through a new authorization request.";
        ScopeBeyondGrant "scope_beyond_grant"
            "A refresh asked for more than was granted."
            "Leave `scope` out, or ask for a part of what was granted; more needs a new authorization request.";
        RefreshTokenNotOurs "refresh_token_not_ours"
            "The text is not a refresh token of this issuer."
            "Send the value of `refresh_token` unchanged; not an access token, and not one of another issuer.";
        RefreshTokenEnded "refresh_token_ended"
            "Nothing is left of this refresh token: its grant was revoked, reused or has expired before."
            "Send the person through a new authorization request. The audit log says what ended the grant.";
        RefreshTokenExpired "refresh_token_expired"
            "The refresh token has expired: it was not used for too long, or its longest life is over."
            "Send the person through a new authorization request; `lifetimes.refresh_token_idle` and `refresh_token_absolute` say how long it lives.";
        RefreshTokenRevoked "refresh_token_revoked"
            "The grant, session, user, client or consent that the refresh token rests on has ended."
            "Send the person through a new authorization request. Ask for `offline_access` if the token shall outlive the session.";
        RefreshTokenReused "refresh_token_reused"
            "The refresh token was replaced by a newer one before. Its whole grant has been ended, because nobody knows which of the two holders is the client."
            "Keep the newest refresh token, and let one process refresh at a time. If the client did so, the token was stolen.";
        RefreshTokenOfOtherClient "refresh_token_of_other_client"
            "The refresh token was issued to another client."
            "Refresh with the `client_id` that the token was issued to.";
        RefreshTokenKeyOther "refresh_token_key_other"
            "The refresh token is bound to another key than the one that the request proved."
            "Refresh with the key that the token was issued for.";
        ResourceBeyondGrant "resource_beyond_grant"
            "A token request named a `resource` that was not granted."
            "Name the resource in the authorization request too.";
        ResourceNoLongerRegistered "resource_no_longer_registered"
            "The client may not name any of the granted resources any more."
            "Add them to the client's `access_token_audiences` again, or send the person through a new authorization request.";
    }
    Exchange {
        ExchangeOff "exchange_off"
            "Token exchange is switched off for this issuer."
            "Switch it on: `PUT /api/admin/settings/token-exchange`.";
        ExchangeNotAllowed "exchange_not_allowed"
            "The client may not exchange tokens."
            "Set the client's `token_exchange_allowed` to true, and its `delegation_mode` to another value than `none`.";
        TokenTypeUnsupported "token_type_unsupported"
            "A token type was named that this issuer does not exchange, accept or issue."
            "Use `urn:ietf:params:oauth:token-type:access_token`, and see the setting `token_exchange_subject_token_types`.";
        TargetMissing "target_missing"
            "The client must name an `audience` or `resource`: the issuer itself is not among its targets."
            "Name a target, or add the issuer's URL to `allowed_token_exchange_resources`.";
        TargetNotAllowed "target_not_allowed"
            "The client may not get tokens for this target."
            "Add the target to the client's `allowed_token_exchange_resources`.";
        ExchangeScopeEmpty "exchange_scope_empty"
            "Nothing of the scope is both in the subject token and registered for the client."
            "Ask for scopes that the subject token has, and register them for the client.";
        ExchangedTooOften "exchanged_too_often"
            "The subject token comes of too long a chain of exchanges."
            "Exchange the first token instead of the result of the result.";
        ActorChainTooLong "actor_chain_too_long"
            "More than 16 parties act for one another in this token."
            "Exchange the first token instead of the result of the result.";
        ActorNotAllowed "actor_not_allowed"
            "The subject token's `may_act` names another party."
            "Exchange it by the party that it names.";
    }
    Token {
        TokenMissing "token_missing"
            "The request has no access token."
            "Send `Authorization: Bearer` and the token; a token in the query is not read.";
        TokenSentTwice "token_sent_twice"
            "The access token came in more than one place."
            "Send it in the header only.";
        AuthorizationHeaderMalformed "authorization_header_malformed"
            "The `Authorization` header has characters that no header can have."
            "Send `Bearer`, a space and the token as it was issued.";
        TokenMalformed "token_malformed"
            "The token is not a signed JWT with the claims of an access token."
            "Send the value of `access_token` unchanged.";
        TokenKeyUnknown "token_key_unknown"
            "The token names a key (`kid`) that this issuer does not have, or not any more."
            "Ask for a new token. If every token fails, the API and the application use different issuers.";
        TokenSignatureWrong "token_signature_wrong"
            "The signature of the token is not good."
            "Send the token unchanged; look whether it was cut on the way.";
        TokenOfOtherKind "token_of_other_kind"
            "An ID token, or a token of another kind, was sent where an access token is needed."
            "Send the value of `access_token`, not that of `id_token`.";
        TokenOfOtherIssuer "token_of_other_issuer"
            "The token was issued by another issuer, as its `iss` says."
            "Ask the issuer that issued it. If it should have been this one, compare the issuer's URL in the application's settings with this one's, also the slash at its end.";
        TokenExpired "token_expired"
            "The token has expired."
            "Refresh before `expires_in` is over; set the clocks.";
        TokenNotYetValid "token_not_yet_valid"
            "The token is not valid yet (`nbf`)."
            "Set the clock of whoever made the token.";
        TokenRevoked "token_revoked"
            "The token, or the grant, session, user, client or consent that it rests on, has ended."
            "Get a new token; the audit log says what ended it.";
        TokenOfOtherClient "token_of_other_client"
            "The token was issued to another client, and is not meant for this one."
            "Add the token's audience to the caller's `audiences` (introspection) or its client to `allowed_subject_token_clients` (token exchange); only the client that has a token may revoke it.";
        TokenAudienceOther "token_audience_other"
            "The token's `aud` does not name the one that is asked."
            "Ask for a token with the right `resource`; UserInfo needs one whose `aud` has the issuer.";
        TokenScopeInsufficient "token_scope_insufficient"
            "The token lacks the scope `openid`."
            "Ask for `openid` in the authorization request; a client's own token (client credentials) has no user.";
        TokenUserUnknown "token_user_unknown"
            "The token's user does not exist, or it is a client's own token."
            "Use a token that a person's sign-in gave.";
        TokenClientUnknown "token_client_unknown"
            "The client that the token was issued to does not exist any more."
            "Register the client again, and get a new token.";
    }
    Logout {
        ClientIdNotOfHint "client_id_not_of_hint"
            "`client_id` is not the client that `id_token_hint` was issued to."
            "Send the client's own ID token, or leave `client_id` out.";
        PostLogoutRedirectUriNotRegistered "post_logout_redirect_uri_not_registered"
            "The `post_logout_redirect_uri` is not one of the client's, so that the person stays at the provider."
            "Add it to the client's `post_logout_redirect_uris`, exactly as it is sent.";
        PostLogoutClientUnknown "post_logout_client_unknown"
            "A `post_logout_redirect_uri` was sent, and neither `id_token_hint` nor `client_id` names a registered client that it could belong to."
            "Send the ID token as `id_token_hint`, or `client_id`.";
    }
}

impl Reason {
    /// Whether it belongs to the everyday life of applications that work: a silent request of somebody who is not
    /// signed in, a token that has just expired, a mistyped password. Such refusals are many, so fewer of them are kept.
    pub const fn is_routine(self) -> bool {
        matches!(
            self,
            Self::SessionMissing
                | Self::AccountNotSelected
                | Self::ConsentMissing
                | Self::SignInTooOld
                | Self::UserRefused
                | Self::PasswordWrong
                | Self::SecondFactorWrong
                | Self::EmailCodeWrong
                | Self::EmailCodeExpired
                | Self::TokenExpired
                | Self::TokenMissing
                | Self::SignInFormExpired
                | Self::PageFormExpired
        )
    }

    /// Whether the client that the refusal names may not be registered: the request was refused before its client was
    /// looked up.
    pub const fn names_anybody(self) -> bool {
        matches!(self, Self::ClientUnknown | Self::ClientAuthenticatedTwice | Self::ClientIdContradicts)
    }

    /// The reason of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.name() == name)
    }
}
