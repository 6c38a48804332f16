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
consent_more = { $client } の詳細:

help = ヘルプ
privacy_policy = プライバシーポリシー
terms_of_service = 利用規約

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
