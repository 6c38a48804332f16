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

second_factor_title = Confirm that it is you
second_factor_code = Code
second_factor_hint = The six digits that your authenticator app shows, or one of your recovery codes.
second_factor_wrong = This code is not right, or it was used before. Wait for the next one and try again.
second_factor_confirm = Confirm
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

magic_link_send = Send me a sign-in link
forgot_link = Forgot your password?
register_link = Create an account
email = E-mail address
given_name = First name
family_name = Last name
new_password = New password
password_hint = At least 8 characters. A few words in a row are easy to remember and hard to guess.
password_optional = Leave it empty to sign in without a password.
password_too_short = This password is too short: it needs at least 8 characters.
password_too_long = This password is too long.
password_common = This password is used by so many people that it is guessed first. Choose another one.
password_own_name = This password is your own name or address. Choose another one.
form_expired = This page was out of date. Please send it again; your browser has to accept cookies for it.
begin_again = Begin again
notice_continue = Continue

register_title = Create an account
register_continue = Continue
register_create = Create account
register_have_account = I have an account
register_email_wrong = This is not an e-mail address.
register_field_wrong = { $field } is missing, or not in the form that is needed.
register_taken = One of these values belongs to another account.
register_puzzle = Your browser has to run a script before the form can be sent, to keep machines away. Please allow scripts and send it again.
registration_closed_title = Accounts cannot be created here
registration_closed_text = If you need one, ask the people who run this service.
invitation_over_title = This invitation is no longer valid
invitation_over_text = It was used or withdrawn, or its time is over. Ask for another one, or sign in if you have an account.
account_exists_title = You have an account
account_exists_text = This address has an account already. Sign in with it.

look_at_mail_title = Look at your mail
mailed_code_sent = We sent a message to { $email }. Type the six digits that are in it, or open its link in this browser.
mailed_code_proven = { $email } is your address. One more step.
mailed_code_wrong = This is not the code.
mailed_code_used_up = This code cannot be used any more. Begin again for a new one.
mailed_code_again = No message? Begin again
magic_link_sent = If { $email } has an account, we sent a link to it. Open the link in this browser. Opened in another one it shows six digits; type them here.
other_browser_title = Go back to your other browser
other_browser_text = This is not the browser in which you began. Type the six digits of the message there.
other_browser_code = This is not the browser in which you began. Type these digits there, if it was you who began:
link_over_title = This link is no longer valid
link_over_text = It was used, or its time is over, or something about the account was changed since.

forgot_title = Forgotten password
forgot_text = We send you a link with which you choose a new one.
forgot_send = Send the link
forgot_back = Back to signing in
forgot_name = Type your username or e-mail address.
recovery_sent_text = If there is an account with this name, a message with a link is on its way to its address. The link is valid for 30 minutes.
reset_title = Choose a new password
reset_for = For the account { $user }
reset_ends = Everything that is signed in to this account is signed out then.
reset_set = Set the password
password_reset_title = Your password is changed
password_reset_text = Everything that was signed in to this account is signed out. Sign in with the new password.

email_present = Your address is { $email }.
email_is_verified = It is confirmed.
email_is_not_verified = It is not confirmed yet.
email_prove = Confirm it by a message
email_new = New address
email_hint = We send a message to it. Until you confirm it, the present address stays.
email_back = Back to your account
email_confirm_title = Confirm your address
email_proven_title = Your address is confirmed
email_proven_text = From now on you sign in with it, and we write to it.
