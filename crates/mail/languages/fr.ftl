# Le courrier en français. La signification des noms se trouve dans en.ftl. Devant « : » se trouve une espace insécable.

minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
hours = { $count ->
    [one] { $count } heure
   *[other] { $count } heures
}
days = { $count ->
    [one] { $count } jour
   *[other] { $count } jours
}

label-device = Appareil
label-address = Adresse
label-place = Lieu
label-time = Heure
label-provider = Fournisseur
label-passkey = Clé d’accès
label-email = Nouvelle adresse
label-help = Aide
label-policy = Politique de confidentialité
label-terms = Conditions d’utilisation
footer = Ce message a été envoyé par { $issuer }.

email-code = Votre code pour { $issuer }
    .text = Saisissez ce code pour vous connecter à { $issuer } :
    .note = Il est valable { $lifetime } et ne peut servir qu’une fois. Ne le donnez à personne, qui que ce soit qui le demande. Si vous ne vouliez pas vous connecter, ignorez ce message.

magic-link = Connexion à { $issuer }
    .text = Ouvrez ce lien, dans le navigateur où vous l’avez demandé, pour vous connecter à { $issuer }.
    .action = Se connecter
    .note = Il est valable { $lifetime } et ne peut servir qu’une fois. Si vous ne vouliez pas vous connecter, ignorez ce message et ne le transférez pas.

magic-link-or-code = Connexion à { $issuer }
    .text = Ouvrez ce lien dans le navigateur où vous l’avez demandé, ou saisissez-y le code, pour vous connecter à { $issuer } :
    .action = Se connecter
    .note = Le lien et le code sont valables { $lifetime }, pour une seule connexion. Ne les donnez à personne, qui que ce soit qui les demande. Si vous ne vouliez pas vous connecter, ignorez ce message.

reset-password = Un nouveau mot de passe pour { $issuer }
    .text = Quelqu’un a demandé un nouveau mot de passe pour votre compte chez { $issuer }. Si c’était vous, ouvrez ce lien et choisissez-en un.
    .action = Choisir un nouveau mot de passe
    .note = Il est valable { $lifetime } et ne peut servir qu’une fois. Si ce n’était pas vous, ignorez ce message : votre mot de passe reste inchangé.

registration = Votre code pour { $issuer }
    .text = Saisissez ce code pour ouvrir votre compte chez { $issuer }, ou ouvrez le lien dans le même navigateur :
    .action = Ouvrir mon compte
    .note = Il est valable { $lifetime }. Ne le donnez à personne, quel que soit le demandeur. Si vous ne vouliez pas ouvrir de compte, ignorez ce message : aucun ne sera ouvert.

account-exists = Vous avez déjà un compte chez { $issuer }
    .text = Quelqu’un, peut-être vous, voulait utiliser cette adresse pour un compte chez { $issuer }. Vous en avez déjà un : connectez-vous avec cette adresse. Si vous ne connaissez plus le mot de passe, choisissez-en un nouveau.
    .action = Choisir un nouveau mot de passe
    .note = Si ce n’était pas vous, ignorez ce message : rien n’a été changé.

verify-email = Confirmez votre adresse pour { $issuer }
    .text = Confirmez que cette adresse vous appartient, afin que { $issuer } puisse l’utiliser pour votre compte.
    .action = Confirmer cette adresse
    .note = Le lien est valable { $lifetime }. Si vous n’avez pas saisi cette adresse chez { $issuer }, ignorez ce message.

invitation = Votre invitation à { $issuer }
    .text = Vous êtes invité à ouvrir un compte chez { $issuer }.
    .action = Ouvrir un compte
    .note = L’invitation est valable { $lifetime }. Si vous ne l’attendiez pas, ignorez ce message.

account-unknown = Aucun compte chez { $issuer }
    .text = Quelqu’un, peut-être vous, a saisi cette adresse chez { $issuer }. Aucun compte n’a cette adresse.
    .action = Ouvrir un compte
    .note = Si c’était vous, vous vous êtes peut-être inscrit avec une autre adresse. Sinon, ignorez ce message.

new-device = Nouvelle connexion à { $issuer }
    .text = Quelqu’un s’est connecté à votre compte chez { $issuer } avec un appareil qui n’avait pas encore été utilisé pour cela.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, changez votre mot de passe et fermez toutes les sessions.

new-passkey = Nouvelle clé d’accès chez { $issuer }
    .text = Une clé d’accès a été ajoutée à votre compte chez { $issuer }.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, connectez-vous, supprimez la clé d’accès, changez votre mot de passe et fermez toutes les sessions.

passkey-removed = Clé d’accès supprimée chez { $issuer }
    .text = Une clé d’accès a été supprimée de votre compte chez { $issuer }.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, connectez-vous, changez votre mot de passe et fermez toutes les sessions.

provider-connected = Nouvelle liaison chez { $issuer }
    .text = Votre compte chez { $issuer } a été relié à un compte chez un autre fournisseur, avec lequel on peut désormais se connecter.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, connectez-vous, déliez-le, changez votre mot de passe et fermez toutes les sessions.

provider-disconnected = Liaison supprimée chez { $issuer }
    .text = Votre compte chez { $issuer } a été délié d’un compte chez un autre fournisseur.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, connectez-vous, changez votre mot de passe et fermez toutes les sessions.

new-generator = Nouvelle application d’authentification chez { $issuer }
    .text = Une application d’authentification a été configurée pour votre compte chez { $issuer }. Ses codes sont demandés quand vous vous connectez avec votre mot de passe.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, prévenez tout de suite les responsables de ce service.

new-recovery-codes = Nouveaux codes de récupération chez { $issuer }
    .text = De nouveaux codes de récupération ont été générés pour votre compte chez { $issuer }. Les précédents ne sont plus valables.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, connectez-vous, changez votre mot de passe et fermez toutes les sessions, et prévenez les responsables de ce service.

generator-removed = Application d’authentification supprimée chez { $issuer }
    .text = L’application d’authentification de votre compte chez { $issuer } a été supprimée, avec les codes de secours. Aucun code n’est plus demandé quand vous vous connectez avec votre mot de passe.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, connectez-vous, changez votre mot de passe et fermez toutes les sessions.

password-changed = Votre mot de passe chez { $issuer } a été changé
    .text = Le mot de passe de votre compte chez { $issuer } a été changé.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, demandez tout de suite un nouveau mot de passe et prévenez les responsables de ce service.

email-changed = Votre adresse chez { $issuer } a été changée
    .text = Votre compte chez { $issuer } a maintenant une autre adresse. Ceci est le dernier message envoyé à l’ancienne.
    .note = Si c’était vous, il n’y a rien à faire. Sinon, prévenez les responsables de ce service.

email-removed = Votre adresse chez { $issuer } a été supprimée
    .text = Votre compte chez { $issuer } n’a plus d’adresse e-mail. Ceci est le dernier message envoyé à cette adresse.
    .note = Si vous l’avez demandé, il n’y a rien à faire. Sinon, prévenez les responsables de ce service.
