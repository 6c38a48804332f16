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

second_factor_title = Confirmez que c’est bien vous
second_factor_code = Code
second_factor_hint = Les six chiffres affichés par votre application d’authentification, ou l’un de vos codes de récupération.
second_factor_wrong = Ce code est incorrect ou a déjà été utilisé. Attendez le suivant et réessayez.
second_factor_confirm = Confirmer
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

magic_link_send = M’envoyer un lien de connexion
forgot_link = Mot de passe oublié ?
register_link = Créer un compte
email = Adresse e-mail
given_name = Prénom
family_name = Nom
new_password = Nouveau mot de passe
password_hint = Au moins 8 caractères. Quelques mots à la suite sont faciles à retenir et difficiles à deviner.
password_optional = Laissez ce champ vide pour vous connecter sans mot de passe.
password_too_short = Ce mot de passe est trop court : il lui faut au moins 8 caractères.
password_too_long = Ce mot de passe est trop long.
password_common = Ce mot de passe est utilisé par tant de personnes qu’il est deviné en premier. Choisissez-en un autre.
password_own_name = Ce mot de passe est votre propre nom ou votre adresse. Choisissez-en un autre.
form_expired = Cette page n’était plus à jour. Veuillez la renvoyer ; votre navigateur doit accepter les cookies.
begin_again = Recommencer
notice_continue = Continuer

register_title = Créer un compte
register_continue = Continuer
register_create = Créer le compte
register_have_account = J’ai déjà un compte
register_email_wrong = Ceci n’est pas une adresse e-mail.
register_field_wrong = { $field } manque, ou n’a pas la forme nécessaire.
register_taken = L’une de ces valeurs appartient à un autre compte.
register_puzzle = Votre navigateur doit exécuter un script avant l’envoi du formulaire, pour tenir les machines à l’écart. Veuillez autoriser les scripts et l’envoyer de nouveau.
registration_closed_title = On ne peut pas créer de compte ici
registration_closed_text = S’il vous en faut un, adressez-vous aux responsables de ce service.
invitation_over_title = Cette invitation n’est plus valable
invitation_over_text = Elle a été utilisée ou retirée, ou son délai est passé. Demandez-en une autre, ou connectez-vous si vous avez un compte.
account_exists_title = Vous avez un compte
account_exists_text = Cette adresse a déjà un compte. Connectez-vous avec elle.

look_at_mail_title = Consultez votre messagerie
mailed_code_sent = Nous avons envoyé un message à { $email }. Saisissez les six chiffres qu’il contient, ou ouvrez son lien dans ce navigateur.
mailed_code_proven = { $email } est bien votre adresse. Encore une étape.
mailed_code_wrong = Ce n’est pas le bon code.
mailed_code_used_up = Ce code ne peut plus être utilisé. Recommencez pour en recevoir un autre.
mailed_code_again = Pas de message ? Recommencer
magic_link_sent = Si { $email } a un compte, nous y avons envoyé un lien. Ouvrez-le dans ce navigateur. Dans un autre, il affiche six chiffres ; saisissez-les ici.
other_browser_title = Retournez à votre autre navigateur
other_browser_text = Ce n’est pas le navigateur dans lequel vous avez commencé. Saisissez-y les six chiffres du message.
other_browser_code = Ce n’est pas le navigateur dans lequel vous avez commencé. Si c’était bien vous, saisissez-y ces chiffres :
link_over_title = Ce lien n’est plus valable
link_over_text = Il a été utilisé, ou son délai est passé, ou quelque chose a changé dans le compte depuis.

forgot_title = Mot de passe oublié
forgot_text = Nous vous envoyons un lien pour en choisir un nouveau.
forgot_send = Envoyer le lien
forgot_back = Retour à la connexion
forgot_name = Saisissez votre nom d’utilisateur ou votre adresse e-mail.
recovery_sent_text = S’il existe un compte à ce nom, un message contenant un lien est en route vers son adresse. Le lien est valable 30 minutes.
reset_title = Choisissez un nouveau mot de passe
reset_for = Pour le compte { $user }
reset_ends = Tout ce qui est connecté à ce compte sera alors déconnecté.
reset_set = Enregistrer le mot de passe
password_reset_title = Votre mot de passe est changé
password_reset_text = Tout ce qui était connecté à ce compte est déconnecté. Connectez-vous avec le nouveau mot de passe.

email_present = Votre adresse est { $email }.
email_is_verified = Elle est confirmée.
email_is_not_verified = Elle n’est pas encore confirmée.
email_prove = La confirmer par un message
email_new = Nouvelle adresse
email_hint = Nous y envoyons un message. Tant que vous ne l’avez pas confirmée, l’adresse actuelle reste valable.
email_back = Retour à votre compte
email_confirm_title = Confirmez votre adresse
email_proven_title = Votre adresse est confirmée
email_proven_text = Désormais vous vous connectez avec elle, et nous y écrivons.
