# 日本語のページ。名前の意味は en.ftl にあります。

login_title = サインイン
login_continue = { $client } に進みます
username = ユーザー名
password = パスワード
sign_in = サインイン
cancel = キャンセル
login_invalid_credentials = ユーザー名またはパスワードが正しくありません。
login_too_many_attempts = 試行回数が多すぎます。{ $wait }後にもう一度お試しください。
login_busy = ただいま混み合っています。数秒後にもう一度お試しください。
login_expired = このページは有効期限が切れていました。もう一度サインインしてください。その際、ブラウザーで Cookie を受け入れる必要があります。
seconds = { $count ->
   *[other] { $count } 秒
}
minutes = { $count ->
   *[other] { $count } 分
}

second_factor_title = ご本人であることの確認
second_factor_code = コード
second_factor_hint = 認証アプリに表示される 6 桁の数字、またはリカバリーコードのいずれか。
second_factor_wrong = このコードは正しくないか、すでに使用されています。次のコードを待って、もう一度お試しください。
second_factor_confirm = 確認
second_factor_setup_title = 認証アプリの設定
second_factor_setup_scan = スマートフォンの認証アプリでこの画像を読み取り、表示された 6 桁の数字を入力してください。
second_factor_setup_type = 読み取れない場合は、次のシークレットをアプリに入力してください。
second_factor_setup_qr = 下のシークレットを含む QR コード
recovery_codes_title = リカバリーコード
recovery_codes_text = これらのコードを安全な場所に保管してください。スマートフォンを紛失した場合、それぞれのコードで 1 回ずつサインインできます。コードが再び表示されることはありません。
recovery_codes_continue = 保管しました

consent_title = { $client } に許可しますか？
consent_asks = { $client } は次の許可を求めています。
consent_signed_in = { $user } としてサインインしています
consent_not_you = 別の方ですか？
consent_redirect = { $host } に移動します。
consent_allow = 許可する
consent_deny = 許可しない
scope_openid = あなたが誰であるかを知ること
scope_profile = 名前とプロフィールを見ること
scope_email = メールアドレスを見ること
scope_address = 住所を見ること
scope_phone = 電話番号を見ること
scope_groups = 所属するグループを見ること
scope_roles = 持っているロールを見ること
scope_offline_access = あなたが利用していない間もアクセスを続けること

logout_title = サインアウトしますか？
logout_question = 次回はもう一度サインインする必要があります。
logout_client = { $client } がサインアウトを求めています。
logout_signed_in = { $user } としてサインインしています
logout_confirm = サインアウト
logout_cancel = サインインしたままにする
logged_out_title = サインアウトしました
logged_out_text = このウィンドウは閉じてかまいません。
logged_out_return = { $client } に戻る

error_request = このリクエストは完了できません
error_not_found = ここには何もありません
error_busy = しばらくしてからもう一度お試しください
error_server = サーバー側で問題が発生しました
error_hint_client = { $client } に戻って、もう一度やり直してください。同じことが起きた場合は、下の内容をその運営者にお知らせください。
error_hint_request = ここへ移動する前のアプリケーションに戻って、もう一度やり直してください。同じことが起きた場合は、下の内容をその運営者にお知らせください。
error_hint_wait = しばらく待ってから、このページを再読み込みしてください。
error_hint_server = しばらくしてからもう一度お試しください。問題が続く場合は、下の内容をこのサービスの運営者にお知らせください。
error_code = エラー
error_request_id = リクエスト

form_post_title = 少々お待ちください
form_post_text = アプリケーションに戻ります。
form_post_button = 続ける

index_text = これは OpenID Connect プロバイダーです。アプリケーションからサインインのためにここへ移動します。
index_issuer = 発行者
index_discovery = ディスカバリードキュメント

silent_title = サイレント更新

outbox_title = 送信トレイ
outbox_text = このサーバーの最新のメール 100 通。開発モードでは、メールサーバーの設定の有無にかかわらず、ここに保存されます。
outbox_empty = まだメールは送信されていません。
outbox_to = 宛先

magic_link_send = サインイン用リンクを送信
forgot_link = パスワードをお忘れですか？
register_link = アカウントを作成
email = メールアドレス
given_name = 名
family_name = 姓
new_password = 新しいパスワード
password_hint = 8文字以上にしてください。いくつかの単語を並べると、覚えやすく推測されにくくなります。
password_optional = パスワードを使わずにサインインする場合は、空欄のままにしてください。
password_too_short = このパスワードは短すぎます。8文字以上が必要です。
password_too_long = このパスワードは長すぎます。
password_common = このパスワードは多くの人が使っており、真っ先に推測されます。別のものを選んでください。
password_own_name = このパスワードはご自身の名前またはアドレスです。別のものを選んでください。
form_expired = このページは期限切れでした。もう一度送信してください。ブラウザーでCookieを許可する必要があります。
begin_again = 最初からやり直す
notice_continue = 続ける

register_title = アカウントの作成
register_continue = 続ける
register_create = アカウントを作成
register_have_account = アカウントを持っています
register_email_wrong = メールアドレスの形式ではありません。
register_field_wrong = { $field }が入力されていないか、形式が正しくありません。
register_taken = これらの値のいずれかは、別のアカウントで使われています。
register_puzzle = 機械による登録を防ぐため、フォームを送信する前にブラウザーでスクリプトを実行する必要があります。スクリプトを許可して、もう一度送信してください。
registration_closed_title = ここではアカウントを作成できません
registration_closed_text = アカウントが必要な場合は、このサービスの運営者にお問い合わせください。
invitation_over_title = この招待は無効になりました
invitation_over_text = すでに使われたか、取り消されたか、期限が切れています。新しい招待を依頼するか、アカウントがあればサインインしてください。
account_exists_title = アカウントはすでにあります
account_exists_text = このアドレスのアカウントはすでに存在します。このアドレスでサインインしてください。

look_at_mail_title = メールを確認してください
mailed_code_sent = { $email }にメッセージを送りました。記載されている6桁の数字を入力するか、このブラウザーでリンクを開いてください。
mailed_code_proven = { $email }を確認しました。あと一歩です。
mailed_code_wrong = コードが違います。
mailed_code_used_up = このコードはもう使えません。新しいコードを受け取るには、最初からやり直してください。
mailed_code_again = メッセージが届きませんか？最初からやり直す
magic_link_sent = { $email }のアカウントがあれば、リンクを送りました。このブラウザーで開いてください。別のブラウザーで開くと6桁の数字が表示されるので、ここに入力してください。
other_browser_title = 元のブラウザーに戻ってください
other_browser_text = 手続きを始めたブラウザーではありません。メッセージにある6桁の数字を、元のブラウザーで入力してください。
other_browser_code = 手続きを始めたブラウザーではありません。ご自身が始めた場合は、この数字を元のブラウザーで入力してください。
link_over_title = このリンクは無効になりました
link_over_text = すでに使われたか、期限が切れたか、その後アカウントに変更がありました。

forgot_title = パスワードを忘れた場合
forgot_text = 新しいパスワードを設定するためのリンクをお送りします。
forgot_send = リンクを送信
forgot_back = サインインに戻る
forgot_name = ユーザー名またはメールアドレスを入力してください。
recovery_sent_text = この名前のアカウントがあれば、登録されたアドレスにリンク付きのメッセージをお送りしました。リンクの有効期間は30分です。
reset_title = 新しいパスワードの設定
reset_for = アカウント：{ $user }
reset_ends = 設定すると、このアカウントのサインインはすべて終了します。
reset_set = パスワードを設定
password_reset_title = パスワードを変更しました
password_reset_text = このアカウントのサインインはすべて終了しました。新しいパスワードでサインインしてください。

email_present = 現在のアドレスは{ $email }です。
email_is_verified = 確認済みです。
email_is_not_verified = まだ確認されていません。
email_prove = メッセージで確認する
email_new = 新しいアドレス
email_hint = そのアドレスにメッセージを送ります。確認が済むまでは、現在のアドレスのままです。
email_back = アカウントに戻る
email_confirm_title = アドレスの確認
email_proven_title = アドレスを確認しました
email_proven_text = 今後はこのアドレスでサインインし、お知らせもこのアドレスに届きます。
