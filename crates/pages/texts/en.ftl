# The pages in English.
#
# This file says which texts there are. Each of the other files has the same keys with the same variables, or the build
# fails. A text has at most one variable, because a page may set off what fills it.

login_title = Sign in
# $client is the name of the application that sent the person here.
login_continue = to continue to { $client }
username = Username
password = Password
sign_in = Sign in
cancel = Cancel
login_invalid_credentials = Username or password is incorrect.
# $wait is one of the two texts below.
login_too_many_attempts = Too many attempts. Try again in { $wait }.
login_busy = We are busy at the moment. Please try again in a few seconds.
login_expired = This page was out of date. Please sign in again; your browser has to accept cookies for it.
seconds = { $count ->
    [one] { $count } second
   *[other] { $count } seconds
}
minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}

username_or_email = Username or email address
login_next = Next
login_other_name = Use another name
login_email_code = Email me a code
login_passkey_refused = This passkey could not be used to sign in here. Try another one, or sign in another way.
login_name_missing = Type your username or email address first.
passkey_sign_in = Sign in with a passkey
passkey_needs_script = Passkeys need JavaScript, and your browser does not run it here.
passkey_offer_title = Sign in faster next time
passkey_offer_text = Create a passkey, and sign in with your fingerprint, your face or the PIN of this device. It stays safe even if somebody learns your password.
passkey_offer_create = Create a passkey
passkey_offer_later = Not now
passkey_offer_failed = No passkey was created. You can try again, or do it later.
email_code_title = Check your mail
# $user is what was typed as name or address.
email_code_sent = If { $user } belongs to an account, we have sent a code to its address.
email_code_label = Code from the mail
# $wait is one of the two texts above.
email_code_hint = Six digits, valid for { $wait }. Keep this page open.
email_code_wrong = This is not the code that we sent. Look at the latest mail and try again.
email_code_spent = This code can no longer be used: it is too old, or it was tried too often. Have a new one sent.
email_code_too_soon = A code is on its way. You can have another one sent in { $wait }.
email_code_again = Send a new code
email_code_other_way = Sign in another way

second_factor_title = Confirm that it is you
second_factor_code = Code
second_factor_hint = The six digits that your authenticator app shows, or one of your recovery codes.
second_factor_wrong = This code is not right, or it was used before. Wait for the next one and try again.
second_factor_confirm = Confirm
second_factor_passkey = Use a passkey of your account.
second_factor_use_passkey = Use a passkey
second_factor_passkey_refused = This passkey could not be used. Try another one of your account.
second_factor_skip = Go on without
second_factor_remember = { $count ->
    [one] Do not ask again in this browser for { $count } day
   *[other] Do not ask again in this browser for { $count } days
}
second_factor_setup_title = Set up an authenticator app
second_factor_setup_scan = Scan this picture with an authenticator app on your phone. Then type the six digits that it shows.
second_factor_setup_type = If you cannot scan it, type this secret into the app:
# For those who do not see the picture.
second_factor_setup_qr = QR code with the secret below
recovery_codes_title = Your recovery codes
recovery_codes_text = Keep these codes in a safe place. If you lose your phone, each of them signs you in once. They are not shown again.
recovery_codes_continue = I have kept them

consent_title = Allow { $client }?
# A list of the texts scope_... follows.
consent_asks = { $client } would like to:
consent_signed_in = Signed in as { $user }
consent_not_you = Not you?
consent_redirect = You will be taken to { $host }.
consent_allow = Allow
consent_deny = Deny
scope_openid = Know who you are
scope_profile = See your name and profile
scope_email = See your email address
scope_address = See your postal address
scope_phone = See your phone number
scope_groups = See which groups you are in
scope_roles = See which roles you have
scope_offline_access = Keep its access while you are away

logout_title = Sign out?
logout_question = You will need to sign in again the next time.
logout_client = { $client } asks to sign you out.
logout_signed_in = Signed in as { $user }
logout_confirm = Sign out
logout_cancel = Stay signed in
logged_out_title = You are signed out
logged_out_text = It is safe to close this window.
logged_out_return = Return to { $client }

error_request = This request cannot be completed
error_not_found = There is nothing here
error_busy = Please try again in a moment
error_server = Something went wrong on our side
error_hint_client = Go back to { $client } and begin again. If this happens again, tell the people who run it what is written below.
error_hint_request = Go back to the application that sent you here and begin again. If this happens again, tell the people who run it what is written below.
error_hint_wait = Wait a moment, then reload this page.
error_hint_server = Try again in a moment. If this goes on, tell the people who run this service what is written below.
error_code = Error
error_request_id = Request

form_post_title = One moment
form_post_text = Taking you back to the application.
form_post_button = Continue

index_text = This is an OpenID Connect provider. Applications send you here to sign in.
index_issuer = Issuer
index_discovery = Discovery document

silent_title = Silent renewal

outbox_title = Outbox
outbox_text = The last 100 mails of this server. In development mode they are kept here, whether or not a mail server is configured.
outbox_empty = No mail has been sent yet.
outbox_to = To
