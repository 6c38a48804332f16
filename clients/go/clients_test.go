package clients

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

func TestCodeWithPKCEAndIDToken(t *testing.T) {
	rp := newRelyingParty(t, "web")
	in := rp.signIn(newBrowser(t))
	if in.browser.pages[0] != "login" {
		t.Errorf("pages %v", in.browser.pages)
	}
	if in.idToken.Subject != fixtures.User.ID || in.idToken.Issuer != fixtures.Issuer {
		t.Errorf("the ID token is about %s of %s", in.idToken.Subject, in.idToken.Issuer)
	}
	if in.token.Type() != "Bearer" || in.token.RefreshToken == "" {
		t.Errorf("type %q, refresh token of length %d", in.token.Type(), len(in.token.RefreshToken))
	}
	if in.response["iss"][0] != fixtures.Issuer {
		t.Errorf("iss %v", in.response["iss"])
	}
}

func TestPublicClient(t *testing.T) {
	rp := newRelyingParty(t, "spa")
	rp.oauth.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	in := rp.signIn(newBrowser(t))
	next, err := rp.refresh(in.token.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	if next.RefreshToken == in.token.RefreshToken {
		t.Error("a public client's refresh token did not rotate")
	}
}

func TestRefresh(t *testing.T) {
	rp := newRelyingParty(t, "web")
	first := rp.signIn(newBrowser(t)).token
	second, err := rp.refresh(first.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	if second.RefreshToken == first.RefreshToken || second.AccessToken == first.AccessToken {
		t.Error("the tokens are the same")
	}
	if idToken, _ := rp.verify(second); idToken.Subject != fixtures.User.ID {
		t.Errorf("the new ID token is about %s", idToken.Subject)
	}
	third, err := rp.refresh(second.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	for _, stale := range []*oauth2.Token{first, third} {
		_, err := rp.refresh(stale.RefreshToken)
		var refused *oauth2.RetrieveError
		if !errors.As(err, &refused) || refused.ErrorCode != "invalid_grant" {
			t.Errorf("expected invalid_grant, got %v", err)
		}
	}
}

func TestUserInfo(t *testing.T) {
	rp := newRelyingParty(t, "web")
	in := rp.signIn(newBrowser(t))
	info, err := rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(in.token))
	if err != nil {
		t.Fatal(err)
	}
	if info.Subject != fixtures.User.ID || info.Email != fixtures.User.Email || !info.EmailVerified {
		t.Errorf("UserInfo says %+v", info)
	}
	_, err = rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "nothing"}))
	if err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("expected 401, got %v", err)
	}
}

func TestSilentAuthentication(t *testing.T) {
	rp := newRelyingParty(t, "web")
	in := rp.signIn(newBrowser(t))
	again := rp.signIn(in.browser, oauth2.SetAuthURLParam("prompt", "none"))
	if len(again.browser.pages) != 0 {
		t.Errorf("pages %v", again.browser.pages)
	}
	if again.idToken.Subject != in.idToken.Subject || again.claims["auth_time"] != in.claims["auth_time"] {
		t.Errorf("another login: %v", again.claims)
	}
	address := rp.oauth.AuthCodeURL("state", oauth2.SetAuthURLParam("prompt", "none"), oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))
	if answer := newBrowser(t).visit(address).Query(); answer.Get("error") != "login_required" {
		t.Errorf("without a session: %v", answer)
	}
}

func TestIntrospectionAndRevocation(t *testing.T) {
	rp := newRelyingParty(t, "web")
	in := rp.signIn(newBrowser(t))
	var endpoints struct {
		Introspection string `json:"introspection_endpoint"`
		Revocation    string `json:"revocation_endpoint"`
	}
	if err := rp.provider.Claims(&endpoints); err != nil {
		t.Fatal(err)
	}
	active := func() bool {
		t.Helper()
		var answer struct{ Active bool }
		response := rp.post(endpoints.Introspection, in.token.AccessToken)
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer.Active
	}
	if !active() {
		t.Error("a fresh token is not active")
	}
	response := rp.post(endpoints.Revocation, in.token.AccessToken)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("revocation answered %s", response.Status)
	}
	if active() {
		t.Error("a revoked token is active")
	}
}

func (rp *relyingParty) post(endpoint, token string) *http.Response {
	rp.t.Helper()
	body := strings.NewReader(url.Values{"token": {token}}.Encode())
	request, err := http.NewRequestWithContext(rp.t.Context(), http.MethodPost, endpoint, body)
	if err != nil {
		rp.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(url.QueryEscape(rp.own.ID), url.QueryEscape(rp.own.Secret))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		rp.t.Fatal(err)
	}
	return response
}

func TestClientCredentials(t *testing.T) {
	rp := newRelyingParty(t, "service")
	config := clientcredentials.Config{
		ClientID:     rp.own.ID,
		ClientSecret: rp.own.Secret,
		TokenURL:     rp.oauth.Endpoint.TokenURL,
		Scopes:       []string{"read"},
	}
	token, err := config.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if token.Extra("scope") != "read" || token.RefreshToken != "" {
		t.Errorf("scope %v", token.Extra("scope"))
	}
}
