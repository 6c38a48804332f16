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

username_or_email = ユーザー名またはメールアドレス
login_next = 次へ
login_other_name = 別の名前を使用
login_email_code = コードをメールで受け取る
login_passkey_refused = このパスキーではサインインできませんでした。別のパスキーを試すか、別の方法でサインインしてください。
login_name_missing = 先にユーザー名またはメールアドレスを入力してください。
passkey_sign_in = パスキーでサインイン
passkey_needs_script = パスキーには JavaScript が必要ですが、このブラウザーでは実行されていません。
passkey_offer_title = 次回からもっと速くサインイン
passkey_offer_text = パスキーを作成すると、指紋、顔、またはこのデバイスの PIN でサインインできます。パスワードを他人に知られても安全です。
passkey_offer_create = パスキーを作成
passkey_offer_later = 今はしない
passkey_offer_failed = パスキーは作成されませんでした。もう一度試すか、後で作成できます。
email_code_title = メールをご確認ください
email_code_sent = { $user } のアカウントがある場合は、登録されたアドレスにコードを送信しました。
email_code_label = メールに記載のコード
email_code_hint = 6 桁の数字です。有効期間は{ $wait }です。このページを開いたままにしてください。
email_code_wrong = 送信したコードと異なります。最新のメールを確認して、もう一度お試しください。
email_code_spent = このコードは使用できなくなりました。有効期限が切れたか、試行回数が多すぎます。新しいコードを送信してください。
email_code_too_soon = コードを送信しました。{ $wait }後に再送信できます。
email_code_again = 新しいコードを送信
email_code_other_way = 別の方法でサインイン

second_factor_title = ご本人であることの確認
second_factor_code = コード
second_factor_hint = 認証アプリに表示される 6 桁の数字、またはリカバリーコードのいずれか。
second_factor_wrong = このコードは正しくないか、すでに使用されています。次のコードを待って、もう一度お試しください。
second_factor_confirm = 確認
second_factor_passkey = アカウントのパスキーを使用してください。
second_factor_use_passkey = パスキーを使用
second_factor_passkey_refused = このパスキーは使用できませんでした。アカウントの別のパスキーをお試しください。
second_factor_skip = 使用せずに続行
second_factor_remember = { $count ->
   *[other] このブラウザーでは { $count } 日間確認しない
}
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
