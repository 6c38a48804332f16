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
# $name is the name of the other provider.
login_provider = Continuer avec { $name }
login_provider_refused = Vous n’avez pas été connecté là-bas. Réessayez, ou connectez-vous autrement.
login_provider_failed = La connexion avec l’autre fournisseur n’a pas réussi. Réessayez, ou connectez-vous autrement.
login_provider_unknown = Aucun compte d’ici n’est relié à celui que vous avez utilisé là-bas. Connectez-vous d’abord autrement ; vous pourrez ensuite le relier sur la page de votre compte.
providers_title = Autres fournisseurs
providers_text = Connectez-vous ici avec un compte que vous avez ailleurs.
providers_connect = Relier
providers_disconnect = Délier
providers_since = Relié depuis
account_connected = Le compte est relié.
account_disconnected = Le compte est délié.
account_connect_failed = Le compte n’a pas pu être relié. Il est peut-être relié à un autre compte d’ici, ou vous avez attendu trop longtemps.
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

select_account_title = Choisissez un compte
select_account_in_use = utilisé actuellement
select_account_other = Utiliser un autre compte

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
consent_more = En savoir plus sur { $client } :

help = Aide
privacy_policy = Politique de confidentialité
terms_of_service = Conditions d’utilisation

logout_title = Se déconnecter ?
logout_question = Vous devrez vous reconnecter la prochaine fois.
logout_client = { $client } demande à vous déconnecter.
logout_signed_in = Connecté en tant que { $user }
logout_applications = Vous serez également déconnecté de ces applications :
logout_confirm = Se déconnecter
logout_cancel = Rester connecté
logout_others = Également connectés dans ce navigateur :
logout_one = Se déconnecter de ce compte
logout_all = Se déconnecter de tous les comptes
logged_out_title = Vous êtes déconnecté
logged_out_text = Vous pouvez fermer cette fenêtre.
logged_out_others = Encore connectés dans ce navigateur :
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

account_title = Votre compte
account_own = votre compte
account_signed_in = Connecté en tant que { $user }
account_nav_overview = Aperçu
account_nav_profile = Profil
account_nav_password = Mot de passe
account_nav_security = Clés d’accès et codes
account_nav_sessions = Sessions
account_nav_applications = Applications
account_nav_data = Vos données
account_sign_out = Se déconnecter
account_switch = Changer de compte
account_lead_profile = Votre nom, et ce que l’on sait d’autre sur vous
account_lead_password = Changer le mot de passe avec lequel vous vous connectez
account_lead_security = Se connecter sans mot de passe, ou avec un code en plus
account_lead_sessions = Où vous êtes connecté, et comment y mettre fin
account_lead_applications = Quelles applications utilisent votre compte, et ce qu’elles peuvent faire
account_lead_data = Obtenir une copie de vos données ou supprimer votre compte
account_save = Enregistrer
account_none = Aucun
account_saved = Vos modifications sont enregistrées.
account_password_changed = Votre mot de passe est changé.
account_sessions_ended = C’est terminé. Plus personne n’y est connecté.
account_access_ended = Cet accès est retiré.
account_expired = Cette page était périmée, et rien n’a été modifié. Veuillez réessayer.
account_changed_meanwhile = Ceci a été modifié ailleurs pendant que la page était ouverte. Voici l’état actuel ; veuillez réessayer.
account_taken = Quelqu’un d’autre a déjà l’une de ces valeurs, qui doit être différente pour chacun. Veuillez en choisir une autre.
account_wrong_password = Ce n’est pas votre mot de passe actuel.
account_passkey_added = Votre clé d’accès est ajoutée.
account_passkey_removed = La clé d’accès est supprimée.
account_generator_set = Votre application d’authentification est configurée.
account_generator_removed = Votre application d’authentification est supprimée, ainsi que les codes de récupération.
account_wrong_code = Ce n’est pas le code que l’application affiche en ce moment. Veuillez saisir le suivant.
account_passkey_failed = Aucune clé d’accès n’a été ajoutée. Veuillez réessayer.
account_last_way = C’est le seul moyen de vous connecter à votre compte. Veuillez d’abord définir un mot de passe ou ajouter une clé d’accès.
account_too_short = Le nouveau mot de passe doit comporter au moins 8 caractères.
account_too_long = Le nouveau mot de passe est trop long.
account_common = Beaucoup de gens utilisent ce mot de passe : c’est l’un des premiers que quelqu’un essaierait. Veuillez en choisir un autre.
account_own_name = Votre mot de passe ne doit être ni votre nom ni votre adresse. Veuillez en choisir un autre.
account_differ = Les deux nouveaux mots de passe sont différents. Veuillez saisir deux fois le même.
account_busy = Nous sommes très sollicités en ce moment. Veuillez réessayer dans quelques secondes.
account_not_confirmed = Veuillez cocher la case si vous voulez supprimer votre compte.
account_needs_password = Veuillez saisir votre mot de passe.
account_bad_text = Un nom peut comporter 2 048 octets au plus, et aucun caractère de contrôle.
account_wait = Trop de tentatives. Réessayez dans { $wait }.
account_invalid = Impossible d’enregistrer : { $reason }.

profile_email = Adresse e-mail
profile_unverified = non vérifiée
profile_name = Nom complet
profile_given_name = Prénom
profile_family_name = Nom de famille
profile_middle_name = Deuxième prénom
profile_nickname = Surnom
profile_more = Plus sur vous
profile_yes = Oui
profile_no = Non
profile_lines = Un par ligne
profile_required = obligatoire
profile_hidden = Ce qui est enregistré n’est pas affiché. Laissez vide pour le conserver.

password_present = Mot de passe actuel
password_new = Nouveau mot de passe
password_again = Nouveau mot de passe, encore une fois
password_rule = Au moins 8 caractères. Quelques mots sans rapport entre eux sont faciles à retenir et difficiles à deviner.
password_end_others = Me déconnecter partout ailleurs
password_change = Changer le mot de passe
password_set = Définir le mot de passe

security_passkeys = Clés d’accès
security_passkeys_text = Une clé d’accès vous connecte avec votre empreinte, votre visage ou le verrouillage de votre appareil. Il n’y a rien à retenir, et elle ne sert à rien sur une page falsifiée.
security_passkeys_none = Vous n’avez pas encore de clé d’accès.
security_passkeys_full = Votre compte ne peut pas avoir plus de clés d’accès. Supprimez-en d’abord une.
security_passkey_name = Nom
security_passkey_synced = synchronisée entre appareils
security_passkey_device = sur un seul appareil
security_passkey_rename = Renommer
security_passkey_remove = Supprimer
security_passkey_add = Ajouter une clé d’accès
security_passkey_add_text = Donnez-lui un nom auquel vous la reconnaîtrez. Votre navigateur demande ensuite où la conserver.
security_passkey_exists = Cet appareil a déjà une clé d’accès de votre compte.
security_passkey_unsupported = Il faut JavaScript et un navigateur qui prend en charge les clés d’accès.
security_added = Ajoutée
security_used = Dernière utilisation
security_generator = Application d’authentification
security_generator_text = Une application sur votre téléphone affiche un nouveau code toutes les 30 secondes. Il est demandé quand vous vous connectez avec votre mot de passe.
security_generator_added = Configurée
security_generator_set_up = Configurer une application
security_generator_replace = Configurer une autre application
security_generator_remove = Supprimer
security_generator_required = Un second facteur est exigé de tous ici : l’application peut être remplacée, mais pas supprimée.
security_codes = Codes de récupération
security_codes_text = Chacun remplace une fois un code de l’application. Demandez-en de nouveaux quand il en reste peu : les anciens ne valent alors plus.
security_codes_left = Non utilisés
security_codes_new = Obtenir de nouveaux codes

sessions_this = Ce navigateur
sessions_other = Un autre navigateur
sessions_device = Appareil
sessions_address = Ouverte depuis l’adresse
sessions_begun = Début
sessions_used = Dernière utilisation
sessions_signed_in = Connexion
sessions_method = Par
sessions_end = Terminer
sessions_end_others = Terminer toutes les autres
sessions_only_this = Vous n’êtes connecté nulle part ailleurs.
sessions_told = Si quelqu’un se connecte à votre compte dans un navigateur où vous ne vous êtes jamais connecté, vous en êtes averti par e-mail.
sessions_more = Les plus récentes sont affichées, sur { $total } au total.
method_pwd = mot de passe
method_otp = code à usage unique
method_hwk = clé de sécurité
method_swk = clé d’accès
method_mfa = plusieurs facteurs
method_admin_api = un administrateur

applications_none = Aucune application n’utilise votre compte.
applications_since = Depuis
applications_used = Dernière utilisation
applications_offline = Conserve son accès en votre absence
applications_session = Vous vous y êtes connecté avec votre compte.
applications_end = Retirer l’accès
applications_end_all = Retirer tous les accès
applications_end_hint = Une application dont l’accès est retiré doit vous le redemander.

data_export_title = Une copie de vos données
data_export_text = Tout ce qui est enregistré ici à votre sujet, dans un fichier JSON : profil, groupes et rôles, sessions, et ce que les applications peuvent faire. Il ne contient ni mot de passe ni autre secret.
data_export = Télécharger
data_delete_title = Supprimer votre compte
data_delete_text = Votre compte et tout ce qui lui appartient sont supprimés définitivement. Vous êtes déconnecté partout, et les applications perdent leur accès.
data_delete_off = Adressez-vous à un administrateur si vous voulez que votre compte soit supprimé.
data_delete_confirm = Je veux supprimer mon compte définitivement
data_delete = Supprimer mon compte
data_deleted_title = Votre compte est supprimé
data_deleted_text = Vous êtes déconnecté partout. Vous pouvez fermer cette fenêtre.
magic_link_send = M’envoyer un lien de connexion
forgot_link = Mot de passe oublié ?
register_link = Créer un compte
email = Adresse e-mail
given_name = Prénom
family_name = Nom
new_password = Nouveau mot de passe
password_hint = Au moins 8 caractères. Quelques mots à la suite sont faciles à retenir et difficiles à deviner.
password_optional_hint = Vous pouvez laisser ce champ vide : vous vous connecterez alors avec ce qui est envoyé à votre adresse e-mail.
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
email_change = Confirmer ou modifier
email_prove = La confirmer par un message
email_new = Nouvelle adresse
email_hint = Nous y envoyons un message. Tant que vous ne l’avez pas confirmée, l’adresse actuelle reste valable.
email_back = Retour à votre compte
email_confirm_title = Confirmez votre adresse
email_proven_title = Votre adresse est confirmée
email_proven_text = Désormais vous vous connectez avec elle, et nous y écrivons.
