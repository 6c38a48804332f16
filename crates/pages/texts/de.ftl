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

username_or_email = Benutzername oder E-Mail-Adresse
login_next = Weiter
login_other_name = Anderen Namen verwenden
login_email_code = Code per E-Mail senden
login_passkey_refused = Mit diesem Passkey konnten Sie sich hier nicht anmelden. Versuchen Sie es mit einem anderen oder melden Sie sich auf andere Weise an.
login_name_missing = Geben Sie zuerst Ihren Benutzernamen oder Ihre E-Mail-Adresse ein.
# $name is the name of the other provider.
login_provider = Weiter mit { $name }
login_provider_refused = Sie wurden dort nicht angemeldet. Versuchen Sie es noch einmal, oder melden Sie sich auf andere Weise an.
login_provider_failed = Die Anmeldung über den anderen Anbieter hat nicht geklappt. Versuchen Sie es noch einmal, oder melden Sie sich auf andere Weise an.
login_provider_unknown = Mit dem dort verwendeten Konto ist hier keines verbunden. Melden Sie sich zuerst auf andere Weise an; dann können Sie es auf der Seite Ihres Kontos verbinden.
providers_title = Andere Anbieter
providers_text = Melden Sie sich hier mit einem Konto an, das Sie anderswo haben.
providers_connect = Verbinden
providers_disconnect = Trennen
providers_since = Verbunden seit
account_connected = Das Konto ist verbunden.
account_disconnected = Das Konto ist getrennt.
account_connect_failed = Das Konto konnte nicht verbunden werden. Vielleicht ist es hier mit einem anderen Konto verbunden, oder Sie haben zu lange gewartet.
passkey_sign_in = Mit Passkey anmelden
passkey_needs_script = Passkeys brauchen JavaScript, und Ihr Browser führt es hier nicht aus.
passkey_offer_title = Melden Sie sich nächstes Mal schneller an
passkey_offer_text = Erstellen Sie einen Passkey und melden Sie sich mit Fingerabdruck, Gesicht oder der PIN dieses Geräts an. Er bleibt sicher, auch wenn jemand Ihr Passwort erfährt.
passkey_offer_create = Passkey erstellen
passkey_offer_later = Nicht jetzt
passkey_offer_failed = Es wurde kein Passkey erstellt. Sie können es noch einmal versuchen oder später nachholen.
email_code_title = Sehen Sie in Ihre E-Mails
email_code_sent = Wenn { $user } zu einem Konto gehört, haben wir einen Code an dessen Adresse gesendet.
email_code_label = Code aus der E-Mail
email_code_hint = Sechs Ziffern, { $wait } gültig. Lassen Sie diese Seite geöffnet.
email_code_wrong = Das ist nicht der Code, den wir gesendet haben. Sehen Sie in die neueste E-Mail und versuchen Sie es noch einmal.
email_code_spent = Dieser Code kann nicht mehr verwendet werden: Er ist zu alt oder wurde zu oft versucht. Lassen Sie sich einen neuen senden.
email_code_too_soon = Ein Code ist unterwegs. In { $wait } können Sie sich einen weiteren senden lassen.
email_code_again = Neuen Code senden
email_code_other_way = Auf andere Weise anmelden

second_factor_title = Bestätigen Sie, dass Sie es sind
second_factor_code = Code
second_factor_hint = Die sechs Ziffern, die Ihre Authenticator-App zeigt, oder einer Ihrer Wiederherstellungscodes.
second_factor_wrong = Dieser Code ist falsch oder wurde schon verwendet. Warten Sie auf den nächsten und versuchen Sie es noch einmal.
second_factor_confirm = Bestätigen
second_factor_passkey = Verwenden Sie einen Passkey Ihres Kontos.
second_factor_use_passkey = Passkey verwenden
second_factor_passkey_refused = Dieser Passkey konnte nicht verwendet werden. Versuchen Sie es mit einem anderen Ihres Kontos.
second_factor_skip = Ohne fortfahren
second_factor_remember = { $count ->
    [one] In diesem Browser { $count } Tag lang nicht mehr fragen
   *[other] In diesem Browser { $count } Tage lang nicht mehr fragen
}
second_factor_setup_title = Authenticator-App einrichten
second_factor_setup_scan = Scannen Sie dieses Bild mit einer Authenticator-App auf Ihrem Telefon. Geben Sie dann die sechs Ziffern ein, die sie zeigt.
second_factor_setup_type = Wenn Sie es nicht scannen können, geben Sie dieses Geheimnis in die App ein:
second_factor_setup_qr = QR-Code mit dem Geheimnis, das darunter steht
recovery_codes_title = Ihre Codes zur Wiederherstellung
recovery_codes_text = Bewahren Sie diese Codes an einem sicheren Ort auf. Wenn Sie Ihr Telefon verlieren, können Sie sich mit jedem davon einmal anmelden. Sie werden nicht noch einmal angezeigt.
recovery_codes_continue = Ich habe sie aufbewahrt

select_account_title = Konto auswählen
select_account_in_use = gerade in Gebrauch
select_account_other = Anderes Konto verwenden

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
consent_more = Mehr über { $client }:

help = Hilfe
privacy_policy = Datenschutzerklärung
terms_of_service = Nutzungsbedingungen

logout_title = Abmelden?
logout_question = Beim nächsten Mal müssen Sie sich wieder anmelden.
logout_client = { $client } möchte Sie abmelden.
logout_signed_in = Angemeldet als { $user }
logout_applications = Sie werden auch bei diesen Anwendungen abgemeldet:
logout_confirm = Abmelden
logout_cancel = Angemeldet bleiben
logout_others = In diesem Browser sind außerdem angemeldet:
logout_one = Von diesem Konto abmelden
logout_all = Von allen Konten abmelden
logged_out_title = Sie sind abgemeldet
logged_out_text = Sie können dieses Fenster jetzt schließen.
logged_out_others = In diesem Browser sind noch angemeldet:
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

account_title = Ihr Konto
account_own = Ihrem Konto
account_signed_in = Angemeldet als { $user }
account_nav_overview = Übersicht
account_nav_profile = Profil
account_nav_password = Passwort
account_nav_security = Passkeys und Codes
account_nav_sessions = Sitzungen
account_nav_applications = Anwendungen
account_nav_data = Ihre Daten
account_sign_out = Abmelden
account_switch = Konto wechseln
account_lead_profile = Ihr Name und was sonst über Sie bekannt ist
account_lead_password = Das Passwort ändern, mit dem Sie sich anmelden
account_lead_security = Ohne Passwort anmelden oder zusätzlich mit einem Code
account_lead_sessions = Wo Sie angemeldet sind und wie Sie das beenden
account_lead_applications = Welche Anwendungen Ihr Konto nutzen und was sie dürfen
account_lead_data = Eine Kopie Ihrer Daten herunterladen oder Ihr Konto löschen
account_save = Speichern
account_none = Keine Angabe
account_saved = Ihre Änderungen sind gespeichert.
account_password_changed = Ihr Passwort ist geändert.
account_sessions_ended = Das ist beendet. Dort ist niemand mehr angemeldet.
account_access_ended = Dieser Zugriff ist beendet.
account_expired = Diese Seite war veraltet, und es wurde nichts geändert. Bitte versuchen Sie es noch einmal.
account_changed_meanwhile = Das wurde anderswo geändert, während die Seite offen war. So ist es jetzt; bitte versuchen Sie es noch einmal.
account_taken = Einer dieser Werte ist schon vergeben und darf nur einmal vorkommen. Bitte wählen Sie einen anderen.
account_wrong_password = Das ist nicht Ihr jetziges Passwort.
account_passkey_added = Ihr Passkey ist hinzugefügt.
account_passkey_removed = Der Passkey ist entfernt.
account_generator_set = Ihre Authenticator-App ist eingerichtet.
account_generator_removed = Ihre Authenticator-App ist entfernt, mit ihr die Wiederherstellungscodes.
account_wrong_code = Das ist nicht der Code, den die App jetzt anzeigt. Bitte geben Sie den nächsten ein.
account_passkey_failed = Es wurde kein Passkey hinzugefügt. Bitte versuchen Sie es noch einmal.
account_last_way = Nur so können Sie sich bei Ihrem Konto anmelden. Bitte legen Sie zuerst ein Passwort fest, oder fügen Sie einen Passkey hinzu.
account_too_short = Das neue Passwort muss mindestens 8 Zeichen haben.
account_too_long = Das neue Passwort ist zu lang.
account_common = Sehr viele Menschen verwenden dieses Passwort, deshalb würde es mit als Erstes ausprobiert. Bitte wählen Sie ein anderes.
account_own_name = Ihr Passwort darf nicht Ihr Name oder Ihre Adresse sein. Bitte wählen Sie ein anderes.
account_differ = Die beiden neuen Passwörter sind verschieden. Bitte geben Sie zweimal dasselbe ein.
account_busy = Wir sind gerade überlastet. Bitte versuchen Sie es in ein paar Sekunden noch einmal.
account_not_confirmed = Bitte setzen Sie das Häkchen, wenn Sie Ihr Konto löschen möchten.
account_needs_password = Bitte geben Sie Ihr Passwort ein.
account_bad_text = Ein Name darf höchstens 2.048 Byte lang sein und keine Steuerzeichen enthalten.
account_wait = Zu viele Versuche. Versuchen Sie es in { $wait } noch einmal.
account_invalid = Das lässt sich nicht speichern: { $reason }.

profile_email = E-Mail-Adresse
profile_unverified = nicht bestätigt
profile_name = Vollständiger Name
profile_given_name = Vorname
profile_family_name = Nachname
profile_middle_name = Zweiter Vorname
profile_nickname = Spitzname
profile_more = Mehr über Sie
profile_yes = Ja
profile_no = Nein
profile_lines = Eines in jeder Zeile
profile_required = erforderlich
profile_hidden = Was gespeichert ist, wird nicht angezeigt. Lassen Sie das Feld leer, um es zu behalten.

password_present = Jetziges Passwort
password_new = Neues Passwort
password_again = Neues Passwort noch einmal
password_rule = Mindestens 8 Zeichen. Einige Wörter, die nicht zusammengehören, sind leicht zu merken und schwer zu erraten.
password_end_others = Überall sonst abmelden
password_change = Passwort ändern
password_set = Passwort festlegen

security_passkeys = Passkeys
security_passkeys_text = Mit einem Passkey melden Sie sich mit Fingerabdruck, Gesicht oder der Sperre Ihres Geräts an. Sie müssen sich nichts merken, und auf einer gefälschten Seite ist er nutzlos.
security_passkeys_none = Sie haben noch keinen Passkey.
security_passkeys_full = Ihr Konto kann keine weiteren Passkeys haben. Entfernen Sie zuerst einen.
security_passkey_name = Name
security_passkey_synced = zwischen Geräten synchronisiert
security_passkey_device = nur auf einem Gerät
security_passkey_rename = Umbenennen
security_passkey_remove = Entfernen
security_passkey_add = Passkey hinzufügen
security_passkey_add_text = Geben Sie ihm einen Namen, an dem Sie ihn wiedererkennen. Ihr Browser fragt dann, wo er aufbewahrt werden soll.
security_passkey_exists = Dieses Gerät hat schon einen Passkey Ihres Kontos.
security_passkey_unsupported = Dazu braucht es JavaScript und einen Browser, der Passkeys kennt.
security_added = Hinzugefügt
security_used = Zuletzt verwendet
security_generator = Authenticator-App
security_generator_text = Eine App auf Ihrem Telefon zeigt alle 30 Sekunden einen neuen Code. Er wird verlangt, wenn Sie sich mit dem Passwort anmelden.
security_generator_added = Eingerichtet
security_generator_set_up = App einrichten
security_generator_replace = Andere App einrichten
security_generator_remove = Entfernen
security_generator_required = Hier brauchen alle einen zweiten Faktor. Deshalb lässt sich die App ersetzen, aber nicht entfernen.
security_codes = Wiederherstellungscodes
security_codes_text = Jeder von ihnen ersetzt einmal einen Code der App. Holen Sie neue, wenn nur noch wenige übrig sind: die alten gelten dann nicht mehr.
security_codes_left = Unbenutzt
security_codes_new = Neue Codes holen

sessions_this = Dieser Browser
sessions_other = Ein anderer Browser
sessions_device = Gerät
sessions_address = Begonnen von der Adresse
sessions_begun = Begonnen
sessions_used = Zuletzt benutzt
sessions_signed_in = Angemeldet
sessions_method = Mit
sessions_end = Beenden
sessions_end_others = Alle anderen beenden
sessions_only_this = Sie sind sonst nirgends angemeldet.
sessions_more = Angezeigt werden die neuesten von insgesamt { $total }.
method_pwd = Passwort
method_otp = Einmalcode
method_hwk = Sicherheitsschlüssel
method_swk = Passkey
method_mfa = mehreren Faktoren
method_admin_api = der Administration

applications_none = Keine Anwendung nutzt Ihr Konto.
applications_since = Seit
applications_used = Zuletzt benutzt
applications_offline = Behält den Zugriff, auch wenn Sie nicht da sind
applications_session = Sie haben sich dort mit Ihrem Konto angemeldet.
applications_end = Zugriff beenden
applications_end_all = Alle Zugriffe beenden
applications_end_hint = Eine Anwendung, deren Zugriff beendet ist, muss Sie von Neuem fragen.

data_export_title = Eine Kopie Ihrer Daten
data_export_text = Alles, was hier über Sie gespeichert ist, als JSON-Datei: Profil, Gruppen und Rollen, Sitzungen und was Anwendungen dürfen. Passwörter und andere Geheimnisse sind nicht darin.
data_export = Herunterladen
data_delete_title = Ihr Konto löschen
data_delete_text = Ihr Konto und alles, was dazugehört, wird endgültig gelöscht. Sie werden überall abgemeldet, und Anwendungen verlieren ihren Zugriff.
data_delete_off = Bitte wenden Sie sich an die Administration, wenn Ihr Konto gelöscht werden soll.
data_delete_confirm = Ich möchte mein Konto endgültig löschen
data_delete = Mein Konto löschen
data_deleted_title = Ihr Konto ist gelöscht
data_deleted_text = Sie sind überall abgemeldet. Sie können dieses Fenster schließen.
magic_link_send = Anmeldelink senden
forgot_link = Passwort vergessen?
register_link = Konto erstellen
email = E-Mail-Adresse
given_name = Vorname
family_name = Nachname
new_password = Neues Passwort
password_hint = Mindestens 8 Zeichen. Mehrere Wörter hintereinander sind leicht zu merken und schwer zu erraten.
password_optional_hint = Sie können dieses Feld leer lassen: Dann melden Sie sich mit dem an, was an Ihre E-Mail-Adresse geschickt wird.
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
email_change = Bestätigen oder ändern
email_prove = Durch eine Nachricht bestätigen
email_new = Neue Adresse
email_hint = Wir senden eine Nachricht dorthin. Bis Sie sie bestätigen, bleibt die jetzige Adresse.
email_back = Zurück zu Ihrem Konto
email_confirm_title = Bestätigen Sie Ihre Adresse
email_proven_title = Ihre Adresse ist bestätigt
email_proven_text = Von nun an melden Sie sich damit an, und wir schreiben dorthin.
