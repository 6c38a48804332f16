# Die Seiten auf Deutsch. Was die Namen bedeuten, steht in en.ftl.

login_title = Anmelden
login_continue = um mit { $client } fortzufahren
username = Benutzername
password = Passwort
sign_in = Anmelden
cancel = Abbrechen
login_invalid_credentials = Benutzername oder Passwort ist falsch.
login_too_many_attempts = Zu viele Versuche. Versuchen Sie es in { $wait } noch einmal.
login_busy = Im Moment ist viel los. Bitte versuchen Sie es in ein paar Sekunden noch einmal.
login_expired = Diese Seite war veraltet. Bitte melden Sie sich noch einmal an; Ihr Browser muss dafür Cookies annehmen.
seconds = { $count ->
    [one] { $count } Sekunde
   *[other] { $count } Sekunden
}
minutes = { $count ->
    [one] { $count } Minute
   *[other] { $count } Minuten
}

second_factor_title = Bestätigen Sie, dass Sie es sind
second_factor_code = Code
second_factor_hint = Die sechs Ziffern, die Ihre Authenticator-App zeigt, oder einer Ihrer Wiederherstellungscodes.
second_factor_wrong = Dieser Code ist falsch oder wurde schon verwendet. Warten Sie auf den nächsten und versuchen Sie es noch einmal.
second_factor_confirm = Bestätigen
second_factor_setup_title = Authenticator-App einrichten
second_factor_setup_scan = Scannen Sie dieses Bild mit einer Authenticator-App auf Ihrem Telefon. Geben Sie dann die sechs Ziffern ein, die sie zeigt.
second_factor_setup_type = Wenn Sie es nicht scannen können, geben Sie dieses Geheimnis in die App ein:
second_factor_setup_qr = QR-Code mit dem Geheimnis, das darunter steht
recovery_codes_title = Ihre Wiederherstellungscodes
recovery_codes_text = Bewahren Sie diese Codes an einem sicheren Ort auf. Wenn Sie Ihr Telefon verlieren, können Sie sich mit jedem davon einmal anmelden. Sie werden nicht noch einmal angezeigt.
recovery_codes_continue = Ich habe sie aufbewahrt

consent_title = { $client } erlauben?
consent_asks = { $client } möchte:
consent_signed_in = Angemeldet als { $user }
consent_not_you = Das sind nicht Sie?
consent_redirect = Sie werden zu { $host } weitergeleitet.
consent_allow = Erlauben
consent_deny = Ablehnen
scope_openid = Wissen, wer Sie sind
scope_profile = Ihren Namen und Ihr Profil sehen
scope_email = Ihre E-Mail-Adresse sehen
scope_address = Ihre Postanschrift sehen
scope_phone = Ihre Telefonnummer sehen
scope_groups = Sehen, in welchen Gruppen Sie sind
scope_roles = Sehen, welche Rollen Sie haben
scope_offline_access = Den Zugriff behalten, während Sie nicht da sind

logout_title = Abmelden?
logout_question = Beim nächsten Mal müssen Sie sich wieder anmelden.
logout_client = { $client } möchte Sie abmelden.
logout_signed_in = Angemeldet als { $user }
logout_confirm = Abmelden
logout_cancel = Angemeldet bleiben
logged_out_title = Sie sind abgemeldet
logged_out_text = Sie können dieses Fenster jetzt schließen.
logged_out_return = Zurück zu { $client }

error_request = Diese Anfrage kann nicht ausgeführt werden
error_not_found = Hier gibt es nichts
error_busy = Bitte versuchen Sie es gleich noch einmal
error_server = Bei uns ist etwas schiefgegangen
error_hint_client = Gehen Sie zurück zu { $client } und beginnen Sie noch einmal. Wenn es wieder geschieht, teilen Sie den Betreibern mit, was unten steht.
error_hint_request = Gehen Sie zurück zu der Anwendung, die Sie hierher geleitet hat, und beginnen Sie noch einmal. Wenn es wieder geschieht, teilen Sie deren Betreibern mit, was unten steht.
error_hint_wait = Warten Sie einen Moment und laden Sie diese Seite dann neu.
error_hint_server = Versuchen Sie es gleich noch einmal. Wenn es dabei bleibt, teilen Sie den Betreibern dieses Dienstes mit, was unten steht.
error_code = Fehler
error_request_id = Anfrage

form_post_title = Einen Moment
form_post_text = Sie werden zur Anwendung zurückgeleitet.
form_post_button = Weiter

index_text = Dies ist ein OpenID-Connect-Provider. Anwendungen leiten Sie hierher, damit Sie sich anmelden.
index_issuer = Aussteller
index_discovery = Discovery-Dokument

silent_title = Stille Erneuerung

outbox_title = Postausgang
outbox_text = Die letzten 100 Nachrichten dieses Servers. Im Entwicklungsmodus werden sie hier aufbewahrt, ob ein Mailserver eingerichtet ist oder nicht.
outbox_empty = Es wurde noch keine Nachricht gesendet.
outbox_to = An

magic_link_send = Anmeldelink senden
forgot_link = Passwort vergessen?
register_link = Konto erstellen
email = E-Mail-Adresse
given_name = Vorname
family_name = Nachname
new_password = Neues Passwort
password_hint = Mindestens 8 Zeichen. Mehrere Wörter hintereinander sind leicht zu merken und schwer zu erraten.
password_optional = Lassen Sie das Feld leer, um sich ohne Passwort anzumelden.
password_too_short = Dieses Passwort ist zu kurz: Es braucht mindestens 8 Zeichen.
password_too_long = Dieses Passwort ist zu lang.
password_common = Dieses Passwort verwenden so viele Menschen, dass es als erstes erraten wird. Wählen Sie ein anderes.
password_own_name = Dieses Passwort ist Ihr eigener Name oder Ihre Adresse. Wählen Sie ein anderes.
form_expired = Diese Seite war veraltet. Bitte senden Sie sie noch einmal; Ihr Browser muss dafür Cookies annehmen.
begin_again = Neu beginnen
notice_continue = Weiter

register_title = Konto erstellen
register_continue = Weiter
register_create = Konto erstellen
register_have_account = Ich habe ein Konto
register_email_wrong = Das ist keine E-Mail-Adresse.
register_field_wrong = { $field } fehlt oder hat nicht die nötige Form.
register_taken = Einer dieser Werte gehört zu einem anderen Konto.
register_puzzle = Ihr Browser muss ein Skript ausführen, bevor das Formular gesendet werden kann; das hält Maschinen fern. Bitte erlauben Sie Skripte und senden Sie es noch einmal.
registration_closed_title = Hier kann man keine Konten erstellen
registration_closed_text = Wenn Sie eines brauchen, wenden Sie sich an die Betreiber dieses Dienstes.
invitation_over_title = Diese Einladung gilt nicht mehr
invitation_over_text = Sie wurde verwendet oder zurückgezogen, oder ihre Zeit ist abgelaufen. Bitten Sie um eine neue, oder melden Sie sich an, wenn Sie ein Konto haben.
account_exists_title = Sie haben ein Konto
account_exists_text = Zu dieser Adresse gibt es schon ein Konto. Melden Sie sich damit an.

look_at_mail_title = Sehen Sie in Ihr Postfach
mailed_code_sent = Wir haben eine Nachricht an { $email } gesendet. Geben Sie die sechs Ziffern daraus ein, oder öffnen Sie ihren Link in diesem Browser.
mailed_code_proven = { $email } ist Ihre Adresse. Noch ein Schritt.
mailed_code_wrong = Das ist nicht der Code.
mailed_code_used_up = Dieser Code gilt nicht mehr. Beginnen Sie neu, um einen anderen zu erhalten.
mailed_code_again = Keine Nachricht? Neu beginnen
magic_link_sent = Wenn { $email } ein Konto hat, haben wir einen Link dorthin gesendet. Öffnen Sie ihn in diesem Browser. In einem anderen zeigt er sechs Ziffern; geben Sie diese hier ein.
other_browser_title = Gehen Sie zurück zum anderen Browser
other_browser_text = In diesem Browser haben Sie nicht begonnen. Geben Sie die sechs Ziffern der Nachricht im anderen ein.
other_browser_code = In diesem Browser haben Sie nicht begonnen. Wenn Sie es waren, geben Sie diese Ziffern im anderen ein:
link_over_title = Dieser Link gilt nicht mehr
link_over_text = Er wurde verwendet, oder seine Zeit ist abgelaufen, oder am Konto wurde seitdem etwas geändert.

forgot_title = Passwort vergessen
forgot_text = Wir senden Ihnen einen Link, mit dem Sie ein neues wählen.
forgot_send = Link senden
forgot_back = Zurück zur Anmeldung
forgot_name = Geben Sie Ihren Benutzernamen oder Ihre E-Mail-Adresse ein.
recovery_sent_text = Wenn es ein Konto mit diesem Namen gibt, ist eine Nachricht mit einem Link an seine Adresse unterwegs. Der Link gilt 30 Minuten.
reset_title = Neues Passwort wählen
reset_for = Für das Konto { $user }
reset_ends = Alles, was bei diesem Konto angemeldet ist, wird dann abgemeldet.
reset_set = Passwort setzen
password_reset_title = Ihr Passwort ist geändert
password_reset_text = Alles, was bei diesem Konto angemeldet war, ist abgemeldet. Melden Sie sich mit dem neuen Passwort an.

email_present = Ihre Adresse ist { $email }.
email_is_verified = Sie ist bestätigt.
email_is_not_verified = Sie ist noch nicht bestätigt.
email_prove = Durch eine Nachricht bestätigen
email_new = Neue Adresse
email_hint = Wir senden eine Nachricht dorthin. Bis Sie sie bestätigen, bleibt die jetzige Adresse.
email_back = Zurück zu Ihrem Konto
email_confirm_title = Bestätigen Sie Ihre Adresse
email_proven_title = Ihre Adresse ist bestätigt
email_proven_text = Von nun an melden Sie sich damit an, und wir schreiben dorthin.
