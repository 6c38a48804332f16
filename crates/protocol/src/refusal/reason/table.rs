//! The closed list of reasons: for each its name, what it means, and what mends it.
//!
//! `docs/reference/failures.md` is generated from this table.

use serde::{Deserialize, Serialize};

use crate::refusal::Area;

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
        ClientIdUrlRefused "client_id_url_refused"
            "The `client_id` is a URL that names no client here: it is not the address of a metadata document in its normal form, or its host is not allowed."
            "Add the host to the issuer's `client_id_metadata_documents`, or, if the URL is malformed, have the application's maker correct it; an administrator may also register the URL as a client.";
        ClientDocumentUnreachable "client_document_unreachable"
            "The metadata document at the `client_id` could not be fetched."
            "Open the address from the provider's host: it must answer 200 with at most 5 KiB, by https, within five seconds and without a redirect. An address in a private network needs `outbound.allow_private`. It is asked again after half a minute.";
        ClientDocumentInvalid "client_document_invalid"
            "The metadata document at the `client_id` describes no client that may be here."
            "Have the application's maker correct what the explanation names: the document's `client_id` must be its address character for character, it must have no secret, and its redirect URIs must be at its own origin or on the person's device. It is read again after half a minute.";
        ClientNotNamed "client_not_named"
            "The request names no client: it has neither an `Authorization` header nor a usable `client_id`, beside which an assertion of another issuer must stand."
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
            "No key of the client, or of the trusted issuer that made the assertion, has its `kid` and algorithm."
            "Register the client's present public keys in `jwks`, or publish them at its `jwks_uri`, which is read again once a minute at most.";
        AssertionAlgorithmOther "assertion_algorithm_other"
            "The assertion is signed with another algorithm than the registered `token_endpoint_auth_signing_alg`, or with one that the client's `profile` does not allow."
            "Sign with the registered algorithm, or register the one that the client uses. Profiles of FAPI 2.0 allow PS256, ES256 and EdDSA.";
        AssertionSignatureWrong "assertion_signature_wrong"
            "No key of the client, or of the trusted issuer that made the assertion, verifies its signature."
            "Register the public half of the key that signs; look whether the client's key was replaced.";
        AssertionTypWrong "assertion_typ_wrong"
            "The header `typ` of the assertion is for another kind of JWT."
            "Leave `typ` out, or send `JWT` or `client-authentication+jwt`. A trusted issuer may send `at+jwt` too.";
        AssertionSubjectWrong "assertion_subject_wrong"
            "`iss` and `sub` of the assertion are not both the `client_id`."
            "Set both claims to the `client_id`.";
        AssertionAudienceWrong "assertion_audience_wrong"
            "The `aud` of the assertion is not this issuer alone."
            "Set `aud` to the issuer's URL, exactly as discovery has it; a list may have this one member only. For a trusted issuer its `audience` is accepted too.";
        AssertionExpired "assertion_expired"
            "The assertion has expired, or was issued more than five minutes ago."
            "Make a new assertion for each request, and set the client's clock.";
        AssertionLivesTooLong "assertion_lives_too_long"
            "`exp` of the assertion is too far ahead: more than five minutes where it has no `iat`; if another issuer made it, more than 24 hours (ten minutes for the JWT bearer grant)."
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
        ClientKeysUnreachable "client_keys_unreachable"
            "The keys at the client's `jwks_uri` could not be fetched, and none are known that were fetched lately."
            "Open the address from the provider's host: it must answer 200 with a JSON Web Key Set of 64 KiB and 32 keys at most, by https, within five seconds and without a redirect. An address in a private network needs `outbound.allow_private`. It is asked again after half a minute.";
        EncryptionKeyMissing "encryption_key_missing"
            "The client gets encrypted answers, and none of its keys is one to encrypt for by the algorithm that it registered."
            "Publish an RSA key for `RSA-OAEP-256`, or a P-256 key for `ECDH-ES`, with `use` `enc` or without `use`, at the client's `jwks_uri`.";
        AssertionIssuerUntrusted "assertion_issuer_untrusted"
            "`iss` of the assertion is not the client, and not an issuer that is trusted for this and that the client names."
            "List the issuer in the setting `trusted_issuers`, with this use in `for`, and in the client's `assertion_issuers`; each exactly as `iss` has it.";
        AssertionConditionUnmet "assertion_condition_unmet"
            "`sub` or another claim of the assertion is not what the client's `assertion_issuers` ask for."
            "Compare what the workload's token has with the client's `assertion_issuers`: it may be another workload, or another branch or environment of the same.";
        TrustedIssuerKeysUnreachable "trusted_issuer_keys_unreachable"
            "The keys of the trusted issuer that made the assertion could not be fetched, and none are known that were fetched lately."
            "Open its `/.well-known/openid-configuration` and the `jwks_uri` in it, or the `jwks_uri` of the setting `trusted_issuers`, from the provider's host: both must answer 200 without a redirect, within five seconds, and without credentials. An address in a private network needs `outbound.allow_private`. It is asked again after half a minute.";
        AssertionSubjectUnknown "assertion_subject_unknown"
            "The `sub` of the assertion names no user here, or one who may not sign in."
            "Connect the person with the identity provider that has the same issuer, or, if that issuer names people by the ids that they have here, set `subject` to `user_id` in `trusted_issuers`.";
        AssertionOfOtherClient "assertion_of_other_client"
            "The ID-JAG is for another client: its `client_id` is not the one that authenticated."
            "Present it as the client that it names, or let the identity provider that makes it name the id that this client has here.";
        AssertionKeyOther "assertion_key_other"
            "The ID-JAG is bound to a key (`cnf`) that the request did not prove."
            "Send a DPoP proof with the key by which the ID-JAG was asked for.";
        ClientCertificateMissing "client_certificate_missing"
            "The client authenticates by its TLS certificate, or gets only tokens that are bound to it, and no certificate came with the request."
            "Let the client present its certificate. If it does, look whether it arrives: `tls.client_certificate_header` is the header that the proxy sets, and the proxy is one of `trusted_proxies`; without a proxy `tls.client_certificates` is on.";
        ClientCertificateUnreadable "client_certificate_unreadable"
            "The header with the client's TLS certificate is not one certificate, or what came is no certificate."
            "Let the proxy set the header once, with the certificate by RFC 9440 or as PEM that is percent-encoded, such as nginx's `$ssl_client_escaped_cert`.";
        ClientCertificateUntrusted "client_certificate_untrusted"
            "The client's TLS certificate is not of an authority in `tls.client_ca_file`, has expired, or is not for clients; or certificates arrive without a proxy, and there is no such file."
            "Name the authorities of clients in `tls.client_ca_file`, or give the client a new certificate. A client with a certificate of its own making registers `self_signed_tls_client_auth`.";
        ClientCertificateOther "client_certificate_other"
            "The client's TLS certificate is not the one that it registered: it has another subject, or another key."
            "Correct the client's `tls_client_auth_...`, or register the key of its new certificate in `jwks`. A distinguished name begins with its last part, as RFC 4514 has it.";
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
            "`response_mode` is none of `query`, `fragment`, `form_post`, the same with `.jwt`, and `jwt`; or the client has the profile `fapi1_advanced`, and asks for a code in an answer that is not signed."
            "Send one of them, or leave it out; under that profile send `jwt`, or `response_type=code id_token`.";
        ResponseModeShowsTokens "response_mode_shows_tokens"
            "`response_mode=query` or `query.jwt` was asked for together with a `response_type` that returns tokens, which must not stand in a query."
            "Leave `response_mode` out, or send `fragment` or `form_post`.";
        ResponseModeNeedsHttp "response_mode_needs_http"
            "`form_post` was asked for, and the redirect URI is not one of http or https."
            "Leave `response_mode` out: an application's own scheme cannot receive a form.";
        RequestParameterUnsupported "request_parameter_unsupported"
            "The request uses `registration`, or `request` and `request_uri` together; or a `request_uri` was pushed."
            "Send the parameters themselves, push them (RFC 9126), or sign them as a request object (`request`).";
        PushedRequestUnknown "pushed_request_unknown"
            "The `request_uri` names no pushed request of this client: it was used already, its time is over, or it is another client's."
            "Push the request anew for each sign-in, and send the person on within a minute. If it lasts, compare the `client_id` of both requests.";
        RequestUriUnregistered "request_uri_unregistered"
            "The `request_uri` is not one of the client's `request_uris`."
            "Add the address to the client's `request_uris`, character for character and with its fragment, or push the request instead.";
        RequestUriUnreachable "request_uri_unreachable"
            "The request object at `request_uri` could not be fetched."
            "Open the address from the provider's host: it must answer 200 with the signed request of 16 KiB at most, by https, within five seconds and without a redirect. An address in a private network needs `outbound.allow_private`. It is asked again after half a minute.";
        PushedRequestMissing "pushed_request_missing"
            "The client or the issuer takes only pushed requests, and this one came with its parameters in the address."
            "Switch pushed authorization requests (PAR) on at the client, or `require_pushed_authorization_requests` off.";
        ResponseTypeUnsupported "response_type_unsupported"
            "`response_type` is none of `code`, `id_token`, `id_token token`, `code id_token`, `code token` and `code id_token token`."
            "Configure the client for the authorization code flow: `response_type=code`.";
        ResponseTypeNotRegistered "response_type_not_registered"
            "The client is not registered for this `response_type`: `code` needs the grant type `authorization_code`, and every other type must be named."
            "Send `response_type=code`, or add the type to the client's `response_types`, and what it needs to its `grant_types`.";
        NonceMissing "nonce_missing"
            "`response_type` has `id_token`, or the client has the profile `fapi1_advanced`, and the request has no `nonce`."
            "Send a new random `nonce` with each request, and compare it with that of the ID token.";
        ScopeLacksOpenid "scope_lacks_openid"
            "`response_type` has `id_token`, and `openid` is not among the scopes."
            "Add `openid` to `scope`, and to the client's registered scope.";
        RequestObjectMissing "request_object_missing"
            "The client must send its requests as signed request objects, and this one has no `request`."
            "Let the client sign its requests (RFC 9101), or take `require_signed_request_object` away from it.";
        RequestObjectMalformed "request_object_malformed"
            "`request` is no signed JWT whose claims are an object, or it has `request` or `request_uri` in it. Unsigned and encrypted ones are not taken."
            "Sign the object by a key of the client's `jwks`, with RS256, PS256, ES256 or EdDSA.";
        RequestObjectTypWrong "request_object_typ_wrong"
            "The `typ` of the request object is that of another kind of token."
            "Set `typ` to `oauth-authz-req+jwt`, or leave it out.";
        RequestObjectAlgorithmOther "request_object_algorithm_other"
            "The request object is signed by another algorithm than `request_object_signing_alg` of the client, or by one that the client's `profile` does not allow."
            "Sign with the registered algorithm, or change the client's `request_object_signing_alg`. Profiles of FAPI 2.0 allow PS256, ES256 and EdDSA.";
        RequestObjectNotSigned "request_object_not_signed"
            "No key in the client's `jwks` fits the request object, or none verifies its signature."
            "Register the public key, with the `kid` that the header has.";
        RequestObjectOfOther "request_object_of_other"
            "`client_id` or `iss` of the request object is not the client, or its `sub` is."
            "Set both to the client's id, and leave `sub` out.";
        RequestObjectAudienceWrong "request_object_audience_wrong"
            "`aud` of the request object does not name the issuer."
            "Set `aud` to the `issuer` of discovery.";
        RequestObjectExpired "request_object_expired"
            "The request object has ended, or it has no `exp` and its client must send one."
            "Make a new one for each request; set the client's clock.";
        RequestObjectTimeWrong "request_object_time_wrong"
            "`nbf` of the request object is in the future; or the client must send `nbf`, not older than an hour, and it is missing, older, or more than an hour before `exp`."
            "Set `nbf` to the present time and `exp` a few minutes later; set the client's clock.";
        PromptInvalid "prompt_invalid"
            "`prompt` has a value that is not supported, or `none` together with another."
            "Send `none` alone, or any of `login`, `consent` and `select_account`.";
        MaxAgeMalformed "max_age_malformed"
            "`max_age` is not a number of seconds."
            "Send a whole number without a sign.";
        NonceTooLong "nonce_too_long"
            "`nonce` has more than 2 KiB."
            "Send a short random text.";
        ClaimsMalformed "claims_malformed"
            "`claims` is no JSON object with requests for claims in `userinfo` and `id_token`, asks for two users by `sub`, or has more than 4 KiB."
            "Send an object as OpenID Connect Core 5.5 has it, encoded once for the address.";
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
        DpopJktMalformed "dpop_jkt_malformed"
            "`dpop_jkt` is not a SHA-256 thumbprint of a key in base64url: 43 characters without padding."
            "Send the thumbprint by RFC 7638 of the public key that signs the proofs.";
        ResourceMalformed "resource_malformed"
            "A `resource` or `audience` is empty, no absolute URI, or has a fragment."
            "Send absolute URIs without `#` (RFC 8707 2).";
        HintNotOne "hint_not_one"
            "A backchannel authentication request names the person by no hint, or by both `login_hint` and `id_token_hint`."
            "Send one of the two.";
        BackchannelParameterUnsupported "backchannel_parameter_unsupported"
            "A backchannel authentication request has `login_hint_token`, `user_code` or `request_uri`."
            "Name the person by `login_hint` or `id_token_hint`, leave `user_code` out, and sign requests in `request`.";
        BackchannelUserUnknown "backchannel_user_unknown"
            "The hint of a backchannel authentication request names nobody who may sign in: no e-mail address or user name, or no ID token of this issuer that the client may use."
            "Send the e-mail address or user name of an active user, or an ID token that this client was given.";
        BackchannelScopeLacksOpenid "backchannel_scope_lacks_openid"
            "`openid` is not in the scope of a backchannel authentication request, or the client is not registered for it."
            "Add `openid` to `scope`, and to the client's registered scope.";
        BindingMessageInvalid "binding_message_invalid"
            "`binding_message` is empty, longer than 100 characters, or has characters that are no plain text, such as pictures."
            "Send a short text that the person can compare: letters, digits, spaces and common signs.";
        NotificationTokenInvalid "notification_token_invalid"
            "`client_notification_token` is not a bearer token of 22 to 1024 characters."
            "Draw at least 128 random bits for each request, in base64url or hexadecimal digits.";
        RequestedExpiryInvalid "requested_expiry_invalid"
            "`requested_expiry` is not a positive number of seconds."
            "Send whole seconds, or leave it out.";
        SignedRequestReplayed "signed_request_replayed"
            "The signed authentication request was used before."
            "Sign another one for each request, with a `jti` of its own.";
        BackchannelRequestsTooMany "backchannel_requests_too_many"
            "As many requests of the client as may wait for one person at a time wait for this one."
            "Let the client wait for the decision, or until its requests end, before it asks the person again.";
        ResourceTooMany "resource_too_many"
            "The request names more resources or audiences than are allowed."
            "Ask for fewer at once, or raise `token_exchange_max_targets`.";
        ResourceNotRegistered "resource_not_registered"
            "The client may not name this `resource` or `audience`."
            "Add it to the client's `access_token_audiences`, or, for clients that registered themselves, to the issuer's `client_registration_resources`.";
        AuthorizationDetailsMalformed "authorization_details_malformed"
            "`authorization_details` is no JSON array of 1 to 16 objects with a `type` each, has a member twice in an object, or has more than 4 KiB."
            "Send an array of objects as RFC 9396 2 has it, encoded once as a parameter.";
        AuthorizationDetailsTypeUnknown "authorization_details_type_unknown"
            "`authorization_details` has a type that the issuer does not have, or that the client may not ask for."
            "Add the type to the issuer's setting `authorization_details_types`, and its name to the client's `authorization_details_types`. For a client that registered itself the type needs `for_self_registered`.";
        AuthorizationDetailsInvalid "authorization_details_invalid"
            "An object of `authorization_details` does not conform to its type: a member is unknown, missing or of another kind, or its value is not allowed."
            "Correct the member that the answer names, or the type in the issuer's setting `authorization_details_types`.";
        SessionMissing "session_missing"
            "`prompt=none` was sent, and nobody is signed in in this browser."
            "Send the person through a request without `prompt=none`. In a frame of another site, look whether the browser sends the provider's cookie there.";
        AccountNotSelected "account_not_selected"
            "`prompt=none` was sent, and of the accounts that are signed in in this browser none is in use: the one last chosen has been signed out."
            "Send the person through a request without `prompt=none`, or name the account by `id_token_hint`.";
        SessionOfOtherUser "session_of_other_user"
            "The user that `id_token_hint`, or the `sub` of `claims`, names is not signed in in this browser, and another one is."
            "Send the person through a request with `prompt=login`, or drop the old ID token.";
        SignInTooOld "sign_in_too_old"
            "`prompt=none` was sent, and `max_age` or the client's `default_max_age` asks for a newer sign-in."
            "Send the person through a request without `prompt=none`, or allow a longer `max_age`.";
        AcrUnmet "acr_unmet"
            "`claims` asks for an `acr` that is essential, and the person's sign-in is of none of the named classes."
            "Name classes that discovery lists, and have the person set up what reaches them; a silent request cannot ask for more.";
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
        UserCodeUnknown "user_code_unknown"
            "No device waits with the code that a person typed on the page for devices: it was mistyped, is too old, or was used."
            "Let the person type what the device shows now. Many of these from one address may be somebody who guesses.";
        UserCodeRateLimited "user_code_rate_limited"
            "Too many codes that no device has were typed in this account or at this address; this one was not looked up."
            "Wait for as long as the page says. Many of these may be somebody who guesses: `rate_limit.login.account` and `rate_limit.login.address` are the limits.";
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
            "Use `authorization_code`, `refresh_token`, `client_credentials`, a device code or token exchange.";
        DevicePending "device_pending"
            "Nobody has typed the device's user code and decided yet."
            "Nothing is broken: the device asks again after `interval` seconds.";
        DeviceSlowDown "device_slow_down"
            "The device asked again before its interval was over. Each time lengthens the interval by five seconds, to a minute at most."
            "Let the device wait for as many seconds between two requests as `interval` says, and five more after each `slow_down`.";
        DeviceRefused "device_refused"
            "The person at the page refused what the device asked for."
            "Nothing is broken. Look at what the page asks for if it happens often.";
        DeviceCodeExpired "device_code_expired"
            "The device code is not known, or not any more: nobody decided within ten minutes, or the provider was restarted meanwhile."
            "Let the device ask for new codes, and show the person the new one.";
        DeviceCodeNotOurs "device_code_not_ours"
            "The `device_code` does not have the form of a device code of this provider."
            "Send `device_code` of the device authorization response unchanged, not the code that the person types.";
        DeviceCodeOfOtherClient "device_code_of_other_client"
            "The device code was given to another client."
            "Send the token request with the `client_id` with which the codes were asked for.";
        DeviceCodeUsed "device_code_used"
            "The device code was redeemed before. Everything that was issued for it has been revoked."
            "Let the device keep its tokens and ask for no others by the same code. If its first answer was lost, it begins again.";
        DeviceCodeRevoked "device_code_revoked"
            "What the person had allowed has ended before the device asked for its tokens: its session, the user or the grant."
            "Let the person allow the device again.";
        CibaPending "ciba_pending"
            "The person has not decided yet what a backchannel authentication request asks for."
            "Nothing is broken: the client asks again after `interval` seconds. People decide at `/account/requests`.";
        CibaSlowDown "ciba_slow_down"
            "The client asked again before its interval was over. Each time lengthens the interval by five seconds, to a minute at most."
            "Let the client wait for as many seconds between two requests as `interval` says, and five more after each `slow_down`.";
        CibaRefused "ciba_refused"
            "The person, or an administrator in their place, refused what the backchannel authentication request asked for."
            "Nothing is broken. Look at what the client asks for if it happens often.";
        AuthReqIdExpired "auth_req_id_expired"
            "The `auth_req_id` is not known, or not any more: nobody decided or fetched the tokens in time, or the provider was restarted meanwhile."
            "Make a new authentication request; `requested_expiry` gives the person more time, 900 seconds at most.";
        AuthReqIdNotOurs "auth_req_id_not_ours"
            "The `auth_req_id` does not have the form of one of this provider."
            "Send `auth_req_id` of the authentication response unchanged.";
        AuthReqIdOfOtherClient "auth_req_id_of_other_client"
            "The `auth_req_id` was given to another client."
            "Send the token request as the client that made the authentication request.";
        AuthReqIdUsed "auth_req_id_used"
            "The `auth_req_id` was redeemed before. Everything that was issued for it has been revoked."
            "Let the client keep its tokens and ask for no others by the same `auth_req_id`. If its first answer was lost, it begins again.";
        AuthReqIdRevoked "auth_req_id_revoked"
            "What had been allowed has ended before the client asked for its tokens: the session in which it was allowed, the user or the grant."
            "Let the client ask the person again.";
        AuthorizationDetailsBeyondGrant "authorization_details_beyond_grant"
            "The token request names `authorization_details` that were not granted: each object must be one of those that were, exactly as it was. Token exchange grants none."
            "Send objects of the first token response unchanged, or leave the parameter out for all of them; for others send the person through a new authorization request.";
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
        CodeKeyOther "code_key_other"
            "The code was requested for another key than the one that the token request proved, or it proved none."
            "Redeem the code with a DPoP proof by the key whose thumbprint was sent as `dpop_jkt`.";
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
            "Add them to the client's `access_token_audiences` or the issuer's `client_registration_resources` again, or send the person through a new authorization request.";
    }
    Exchange {
        ExchangeOff "exchange_off"
            "Token exchange is switched off for this issuer."
            "Switch it on: `PUT /api/admin/settings/token-exchange`.";
        ExchangeNotAllowed "exchange_not_allowed"
            "The client may not exchange tokens."
            "Set the client's `token_exchange_allowed` to true, and its `delegation_mode` to another value than `none`.";
        IdTokenExchangeNotAllowed "id_token_exchange_not_allowed"
            "The client may not exchange ID tokens for access tokens."
            "Set the client's `id_token_exchange_allowed` to true.";
        IdJagOff "id_jag_off"
            "An ID-JAG was asked for, and this issuer makes none."
            "Switch it on: `idJag.enabled` of `PUT /api/admin/settings/token-exchange`.";
        IdJagAudienceNotOne "id_jag_audience_not_one"
            "A request for an ID-JAG named no `audience`, or more than one."
            "Send one `audience`: the issuer identifier of the authorization server where the ID-JAG will be presented.";
        IdJagTargetNotAllowed "id_jag_target_not_allowed"
            "The client may not get an ID-JAG for this audience or resource, or the `relying_party` of the audience does not exist."
            "Add the audience and its `resources` to the client's `id_jag_audiences`; the issuer itself can be none.";
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
            "Nothing of the scope is both in the subject token, or the ID-JAG, and registered for the client."
            "Ask for scopes that the subject token or the ID-JAG has, and register them for the client; for an ID-JAG that is asked for, in the `scope` of its `id_jag_audiences`.";
        ExchangedTooOften "exchanged_too_often"
            "The subject token comes of too long a chain of exchanges."
            "Exchange the first token instead of the result of the result.";
        ActorChainTooLong "actor_chain_too_long"
            "More than 16 parties act for one another in this token."
            "Exchange the first token instead of the result of the result.";
        SubjectOfOtherSector "subject_of_other_sector"
            "The token's client and the one that exchanges it know the user by different subjects."
            "Give both clients `subject_type=pairwise` and one sector, or public subjects.";
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
        TokenIsBound "token_is_bound"
            "The access token is bound to a key, and came as a bearer token without a proof of that key."
            "Send `Authorization: DPoP`, the token and a DPoP proof. If the client did, somebody else has its token.";
        TokenNotBound "token_not_bound"
            "The access token is bound to no key, and came by the scheme `DPoP`."
            "Send it as `Authorization: Bearer`, or ask for a token with a DPoP proof.";
        TokenKeyOther "token_key_other"
            "The proof is by another key than the one to which the access token is bound."
            "Sign the proof with the key for which the token was issued.";
        TokenCertificateMissing "token_certificate_missing"
            "The access token is bound to a TLS certificate, and came without one."
            "Call UserInfo with the certificate with which the token was asked for, at the address of `mtls_endpoint_aliases` if discovery has it. If the client did, see `client_certificate_missing`; else somebody else has its token.";
        TokenCertificateOther "token_certificate_other"
            "The access token is bound to another TLS certificate than the one that came with it."
            "Use the certificate with which the token was asked for, or get a new token with the new one.";
    }
    Dpop {
        DpopProofMissing "dpop_proof_missing"
            "The request has no `DPoP` header, and the client or the access token needs a proof."
            "Send a DPoP proof with the request. A client that cannot has `dpop_bound_access_tokens` set to false.";
        DpopProofMalformed "dpop_proof_malformed"
            "The `DPoP` header is not one signed JWT with the claims `jti`, `htm`, `htu` and `iat`, by an algorithm that discovery lists and the client's `profile` allows."
            "Send one header with one JWS in compact form; `iat` is a number of seconds.";
        DpopProofTypWrong "dpop_proof_typ_wrong"
            "The header `typ` of the proof is not `dpop+jwt`."
            "Set `typ` to `dpop+jwt`.";
        DpopProofKeyInvalid "dpop_proof_key_invalid"
            "The header `jwk` of the proof is missing, is no public key that fits `alg`, or has private members."
            "Put the public key alone into the header: RSA of 2048 bits or more, P-256 or Ed25519.";
        DpopProofSignatureWrong "dpop_proof_signature_wrong"
            "The proof is not signed by the key in its header."
            "Sign with the private half of `jwk`. A signature by ES256 is `r` and `s` of 32 bytes each, not DER.";
        DpopProofMethodOther "dpop_proof_method_other"
            "`htm` of the proof is not the method of the request."
            "Set `htm` to the method in upper case, such as `POST`.";
        DpopProofUriOther "dpop_proof_uri_other"
            "`htu` of the proof is not the URL of the endpoint."
            "Set `htu` to the endpoint's URL as discovery has it. Behind a proxy the public URL counts, not the inner one.";
        DpopProofTimeWrong "dpop_proof_time_wrong"
            "`iat` of the proof is more than five minutes past or in the future, or its `exp` or `nbf` does not hold."
            "Make a new proof for each request, and set the client's clock.";
        DpopProofJtiMissing "dpop_proof_jti_missing"
            "The proof has no `jti` of at most 512 visible characters."
            "Add a `jti`, a new one for each proof.";
        DpopProofTokenOther "dpop_proof_token_other"
            "`ath` of the proof is not the SHA-256 of the access token that came with it."
            "Set `ath` to BASE64URL(SHA256(access token)) without `=` at its end.";
        DpopProofReplayed "dpop_proof_replayed"
            "The proof was used before."
            "Make a new proof with its own `jti` for each request, also when a request is repeated.";
        DpopJktOther "dpop_jkt_other"
            "`dpop_jkt` of a pushed request names another key than the DPoP proof that came with it has."
            "Leave `dpop_jkt` out where a proof is sent, or make both of the same key.";
        DpopNonceMissing "dpop_nonce_missing"
            "The client's proofs must have a nonce of the provider, by the setting `dpop_nonce` or because the provider crashed a moment ago, and this one has none."
            "Nothing is broken if it happens once: the client repeats the request with the nonce of the header `DPoP-Nonce`. A client that cannot has the setting `dpop_nonce` set to `off`.";
        DpopNonceWrong "dpop_nonce_wrong"
            "The nonce of the proof is too old, or not one of this issuer."
            "Send the nonce of the latest `DPoP-Nonce` header of this issuer.";
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
    Registration {
        ClientRegistrationOff "client_registration_off"
            "An application tried to register itself as a client, or to manage its registration, and the issuer lets none do that."
            "Set the issuer's `client_registration` to `initial_access_token` or `open`, or register the client with `symbolon client create`.";
        InitialAccessTokenWrong "initial_access_token_wrong"
            "The initial access token is not one of this issuer's, has expired, is used up, or was made before `client_registration_tokens_from`."
            "Make another with `POST /api/admin/initial-access-tokens`, and send it as `Authorization: Bearer`.";
        RegistrationAccessTokenWrong "registration_access_token_wrong"
            "The registration access token is not that of the client in the path, or there is no such client."
            "Send the token that the registration answered with; if it is lost, an administrator changes the client, or the application registers anew.";
        SoftwareStatementUnapproved "software_statement_unapproved"
            "The registration has a `software_statement` of somebody who is not trusted for such statements."
            "Trust its issuer by `trusted_issuers` with `software_statement` in `for`, or register without it: its members can be sent themselves.";
        SoftwareStatementInvalid "software_statement_invalid"
            "The `software_statement` is no signed JWT with `iss`, is not signed by a key of its issuer, has expired, or is for another audience."
            "Send the statement whole, as its issuer made it; have its issuer make another if it has expired.";
        SoftwareStatementMissing "software_statement_missing"
            "The registration has no `software_statement`, and the setting `client_registration_require_software_statement` asks for one."
            "Get one from an issuer that `trusted_issuers` trusts for `software_statement`, or switch the setting off.";
        ClientsTooMany "clients_too_many"
            "The issuer has as many clients as `client_registration_most_clients` lets registrations make."
            "Delete clients that nobody uses, lower `client_registration_unused_days`, or raise the bound.";
    }
}
