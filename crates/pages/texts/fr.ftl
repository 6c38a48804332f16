# Les pages en français. La signification des noms se trouve dans en.ftl. Devant « : ? » se trouve une espace insécable.

login_title = Se connecter
login_continue = pour continuer vers { $client }
username = Nom d’utilisateur
password = Mot de passe
sign_in = Se connecter
cancel = Annuler
login_invalid_credentials = Le nom d’utilisateur ou le mot de passe est incorrect.
login_too_many_attempts = Trop de tentatives. Réessayez dans { $wait }.
login_busy = Le service est très sollicité en ce moment. Veuillez réessayer dans quelques secondes.
login_expired = Cette page avait expiré. Veuillez vous connecter à nouveau ; votre navigateur doit accepter les cookies pour cela.
seconds = { $count ->
    [one] { $count } seconde
   *[other] { $count } secondes
}
minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}

username_or_email = Nom d’utilisateur ou adresse e-mail
login_next = Suivant
login_other_name = Utiliser un autre nom
login_email_code = M’envoyer un code par e-mail
login_passkey_refused = Cette clé d’accès n’a pas permis de vous connecter ici. Essayez-en une autre ou connectez-vous autrement.
login_name_missing = Saisissez d’abord votre nom d’utilisateur ou votre adresse e-mail.
passkey_sign_in = Se connecter avec une clé d’accès
passkey_needs_script = Les clés d’accès ont besoin de JavaScript, que votre navigateur n’exécute pas ici.
passkey_offer_title = Connectez-vous plus vite la prochaine fois
passkey_offer_text = Créez une clé d’accès et connectez-vous avec votre empreinte, votre visage ou le code PIN de cet appareil. Elle reste sûre même si quelqu’un apprend votre mot de passe.
passkey_offer_create = Créer une clé d’accès
passkey_offer_later = Pas maintenant
passkey_offer_failed = Aucune clé d’accès n’a été créée. Vous pouvez réessayer ou le faire plus tard.
email_code_title = Consultez vos e-mails
email_code_sent = Si { $user } correspond à un compte, nous avons envoyé un code à son adresse.
email_code_label = Code reçu par e-mail
email_code_hint = Six chiffres, valables pendant { $wait }. Gardez cette page ouverte.
email_code_wrong = Ce n’est pas le code que nous avons envoyé. Consultez le dernier e-mail et réessayez.
email_code_spent = Ce code ne peut plus être utilisé : il est trop ancien ou a été essayé trop souvent. Demandez-en un nouveau.
email_code_too_soon = Un code est en route. Vous pourrez en demander un autre dans { $wait }.
email_code_again = Envoyer un nouveau code
email_code_other_way = Se connecter autrement

second_factor_title = Confirmez que c’est bien vous
second_factor_code = Code
second_factor_hint = Les six chiffres affichés par votre application d’authentification, ou l’un de vos codes de récupération.
second_factor_wrong = Ce code est incorrect ou a déjà été utilisé. Attendez le suivant et réessayez.
second_factor_confirm = Confirmer
second_factor_passkey = Utilisez une clé d’accès de votre compte.
second_factor_use_passkey = Utiliser une clé d’accès
second_factor_passkey_refused = Cette clé d’accès n’a pas pu être utilisée. Essayez-en une autre de votre compte.
second_factor_skip = Continuer sans
second_factor_remember = { $count ->
    [one] Ne plus demander dans ce navigateur pendant { $count } jour
   *[other] Ne plus demander dans ce navigateur pendant { $count } jours
}
second_factor_setup_title = Configurer une application d’authentification
second_factor_setup_scan = Scannez cette image avec une application d’authentification sur votre téléphone. Saisissez ensuite les six chiffres qu’elle affiche.
second_factor_setup_type = Si vous ne pouvez pas la scanner, saisissez ce secret dans l’application :
second_factor_setup_qr = Code QR contenant le secret ci-dessous
recovery_codes_title = Vos codes de récupération
recovery_codes_text = Conservez ces codes en lieu sûr. Si vous perdez votre téléphone, chacun d’eux vous permet de vous connecter une fois. Ils ne seront plus affichés.
recovery_codes_continue = Je les ai conservés

consent_title = Autoriser { $client } ?
consent_asks = { $client } souhaite :
consent_signed_in = Connecté en tant que { $user }
consent_not_you = Ce n’est pas vous ?
consent_redirect = Vous serez redirigé vers { $host }.
consent_allow = Autoriser
consent_deny = Refuser
scope_openid = Savoir qui vous êtes
scope_profile = Voir votre nom et votre profil
scope_email = Voir votre adresse e-mail
scope_address = Voir votre adresse postale
scope_phone = Voir votre numéro de téléphone
scope_groups = Voir à quels groupes vous appartenez
scope_roles = Voir quels rôles vous avez
scope_offline_access = Conserver son accès en votre absence

logout_title = Se déconnecter ?
logout_question = Vous devrez vous reconnecter la prochaine fois.
logout_client = { $client } demande à vous déconnecter.
logout_signed_in = Connecté en tant que { $user }
logout_confirm = Se déconnecter
logout_cancel = Rester connecté
logged_out_title = Vous êtes déconnecté
logged_out_text = Vous pouvez fermer cette fenêtre.
logged_out_return = Retourner à { $client }

error_request = Cette demande ne peut pas aboutir
error_not_found = Il n’y a rien ici
error_busy = Veuillez réessayer dans un instant
error_server = Une erreur s’est produite de notre côté
error_hint_client = Retournez à { $client } et recommencez. Si cela se reproduit, communiquez à ses responsables ce qui est écrit ci-dessous.
error_hint_request = Retournez à l’application qui vous a envoyé ici et recommencez. Si cela se reproduit, communiquez à ses responsables ce qui est écrit ci-dessous.
error_hint_wait = Patientez un instant, puis rechargez cette page.
error_hint_server = Réessayez dans un instant. Si le problème persiste, communiquez aux responsables de ce service ce qui est écrit ci-dessous.
error_code = Erreur
error_request_id = Demande

form_post_title = Un instant
form_post_text = Nous vous ramenons à l’application.
form_post_button = Continuer

index_text = Ceci est un fournisseur OpenID Connect. Les applications vous envoient ici pour vous connecter.
index_issuer = Émetteur
index_discovery = Document de découverte

silent_title = Renouvellement silencieux

outbox_title = Boîte d’envoi
outbox_text = Les 100 derniers messages de ce serveur. En mode développement, ils sont conservés ici, qu’un serveur de messagerie soit configuré ou non.
outbox_empty = Aucun message n’a encore été envoyé.
outbox_to = À
