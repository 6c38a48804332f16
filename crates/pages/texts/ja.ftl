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
logout_applications = 次のアプリケーションからもサインアウトします：
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

account_title = アカウント
account_own = お使いのアカウント
account_signed_in = { $user } としてサインイン中
account_nav_overview = 概要
account_nav_profile = プロフィール
account_nav_password = パスワード
account_nav_security = パスキーとコード
account_nav_sessions = セッション
account_nav_applications = アプリケーション
account_nav_data = あなたのデータ
account_sign_out = サインアウト
account_lead_profile = 名前など、登録されている情報
account_lead_password = サインインに使うパスワードの変更
account_lead_security = パスワードなしのサインイン、または追加のコード
account_lead_sessions = サインインしている場所の確認と終了
account_lead_applications = アカウントを利用しているアプリケーションと、その権限
account_lead_data = データのコピーの取得、またはアカウントの削除
account_save = 保存
account_none = なし
account_saved = 変更を保存しました。
account_password_changed = パスワードを変更しました。
account_sessions_ended = 終了しました。そこではもう誰もサインインしていません。
account_access_ended = アクセスを終了しました。
account_expired = このページは古くなっていたため、何も変更されていません。もう一度お試しください。
account_changed_meanwhile = ページを開いている間に、別の場所で変更されました。現在の内容を表示しています。もう一度お試しください。
account_taken = 他の人と重複できない値が、すでに使われています。別の値を入力してください。
account_wrong_password = 現在のパスワードが正しくありません。
account_passkey_added = パスキーを追加しました。
account_passkey_removed = パスキーを削除しました。
account_generator_set = 認証アプリを設定しました。
account_generator_removed = 認証アプリをリカバリーコードとともに削除しました。
account_wrong_code = アプリが現在表示しているコードと一致しません。次のコードを入力してください。
account_passkey_failed = パスキーは追加されませんでした。もう一度お試しください。
account_last_way = このパスキーは、アカウントにサインインする唯一の方法です。先にパスワードを設定してください。
account_too_short = 新しいパスワードは 8 文字以上にしてください。
account_too_long = 新しいパスワードが長すぎます。
account_common = このパスワードは非常に多くの人が使っているため、真っ先に試されます。別のものにしてください。
account_own_name = ご自身の名前やアドレスはパスワードにできません。別のものにしてください。
account_differ = 2 つの新しいパスワードが一致しません。同じものを 2 回入力してください。
account_busy = ただいま混み合っています。数秒後にもう一度お試しください。
account_not_confirmed = アカウントを削除するには、チェックを入れてください。
account_needs_password = パスワードを入力してください。
account_bad_text = 名前は 2,048 バイト以内で、制御文字は使えません。
account_wait = 試行回数が多すぎます。{ $wait }後にもう一度お試しください。
account_invalid = 保存できません: { $reason }

profile_email = メールアドレス
profile_email_hint = 管理者が変更できます。
profile_unverified = 未確認
profile_name = 氏名
profile_given_name = 名
profile_family_name = 姓
profile_middle_name = ミドルネーム
profile_nickname = ニックネーム
profile_more = その他の情報
profile_yes = はい
profile_no = いいえ
profile_lines = 1 行に 1 つずつ
profile_required = 必須
profile_hidden = 保存されている値は表示されません。そのままにするには空欄にしてください。

password_present = 現在のパスワード
password_new = 新しいパスワード
password_again = 新しいパスワード (確認)
password_rule = 8 文字以上。互いに関係のない単語をいくつか並べると、覚えやすく、推測されにくくなります。
password_end_others = ほかのすべての場所からサインアウトする
password_change = パスワードを変更
password_set = パスワードを設定

security_passkeys = パスキー
security_passkeys_text = パスキーを使うと、指紋や顔、端末のロックでサインインできます。覚えるものはなく、偽のページでは役に立ちません。
security_passkeys_none = パスキーはまだありません。
security_passkeys_full = これ以上パスキーを追加できません。先にどれかを削除してください。
security_passkey_name = 名前
security_passkey_synced = 端末間で同期
security_passkey_device = 1 台の端末のみ
security_passkey_rename = 名前を変更
security_passkey_remove = 削除
security_passkey_add = パスキーを追加
security_passkey_add_text = 後で見分けられる名前を付けてください。続いて、ブラウザーが保存先を尋ねます。
security_passkey_exists = この端末には、すでにこのアカウントのパスキーがあります。
security_passkey_unsupported = JavaScript と、パスキーに対応したブラウザーが必要です。
security_added = 追加日時
security_used = 最終使用
security_generator = 認証アプリ
security_generator_text = 電話のアプリが 30 秒ごとに新しいコードを表示します。パスワードでサインインするときに、そのコードを入力します。
security_generator_added = 設定日時
security_generator_set_up = アプリを設定
security_generator_replace = 別のアプリを設定
security_generator_remove = 削除
security_generator_required = ここでは全員に第 2 要素が必要なため、アプリは置き換えられますが、削除はできません。
security_codes = リカバリーコード
security_codes_text = それぞれ 1 回だけ、アプリのコードの代わりに使えます。残りが少なくなったら新しく取得してください。古いコードは無効になります。
security_codes_left = 未使用
security_codes_new = 新しいコードを取得

sessions_this = このブラウザー
sessions_other = 別のブラウザー
sessions_begun = 開始
sessions_used = 最終使用
sessions_signed_in = サインイン
sessions_method = 方法
sessions_end = 終了
sessions_end_others = ほかをすべて終了
sessions_only_this = ほかの場所ではサインインしていません。
sessions_more = 全 { $total } 件のうち、新しいものを表示しています。
method_pwd = パスワード
method_otp = ワンタイムコード
method_hwk = セキュリティキー
method_swk = パスキー
method_mfa = 複数の要素
method_admin_api = 管理者

applications_none = アカウントを利用しているアプリケーションはありません。
applications_since = 開始
applications_used = 最終使用
applications_offline = 不在の間もアクセスを保持
applications_session = このアカウントでサインインしました。
applications_end = アクセスを終了
applications_end_all = すべてのアクセスを終了
applications_end_hint = アクセスを終了したアプリケーションは、改めて許可を求める必要があります。

data_export_title = データのコピー
data_export_text = ここに保存されているあなたに関するすべての情報の JSON ファイルです。プロフィール、グループとロール、セッション、アプリケーションの権限が含まれます。パスワードなどの秘密は含まれません。
data_export = ダウンロード
data_delete_title = アカウントの削除
data_delete_text = アカウントと、それに属するすべてが完全に削除されます。すべての場所からサインアウトし、アプリケーションはアクセスを失います。
data_delete_off = アカウントの削除をご希望の場合は、管理者にお問い合わせください。
data_delete_confirm = アカウントを完全に削除します
data_delete = アカウントを削除
data_deleted_title = アカウントを削除しました
data_deleted_text = すべての場所からサインアウトしました。このウィンドウを閉じてもかまいません。
