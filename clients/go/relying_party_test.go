// Package clients holds golang.org/x/oauth2 and coreos/go-oidc against the provider.
package clients

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

type registered struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
}

// fixtures is what the runner made.
var fixtures struct {
	Issuer      string `json:"issuer"`
	BaseURL     string `json:"base_url"`
	RedirectURI string `json:"redirect_uri"`
	User        struct {
		ID       string `json:"id"`
		Email    string `json:"email"`
		Name     string `json:"name"`
		Password string `json:"password"`
	} `json:"user"`
	Clients map[string]registered `json:"clients"`
}

func TestMain(m *testing.M) {
	text, err := os.ReadFile(os.Getenv("SYMBOLON_FIXTURES"))
	if err == nil {
		err = json.Unmarshal(text, &fixtures)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// relyingParty is a client of the provider, configured by discovery.
type relyingParty struct {
	t        *testing.T
	own      registered
	provider *oidc.Provider
	oauth    oauth2.Config
}

func newRelyingParty(t *testing.T, name string) *relyingParty {
	t.Helper()
	provider, err := oidc.NewProvider(t.Context(), fixtures.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	own, found := fixtures.Clients[name]
	if !found {
		t.Fatalf("no client %s", name)
	}
	return &relyingParty{t, own, provider, oauth2.Config{
		ClientID:     own.ID,
		ClientSecret: own.Secret,
		Endpoint:     provider.Endpoint(),
		RedirectURL:  fixtures.RedirectURI,
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email"},
	}}
}

// login is what a login gave.
type login struct {
	browser  *browser
	token    *oauth2.Token
	idToken  *oidc.IDToken
	claims   map[string]any
	response map[string][]string
}

// signIn does a whole login: request, pages, code, tokens, and the ID token's checks.
func (rp *relyingParty) signIn(b *browser, options ...oauth2.AuthCodeOption) login {
	rp.t.Helper()
	verifier, state, nonce := oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	options = append(options, oauth2.S256ChallengeOption(verifier), oidc.Nonce(nonce))
	b.pages = nil
	answer := b.visit(rp.oauth.AuthCodeURL(state, options...)).Query()
	if answer.Get("state") != state {
		rp.t.Fatalf("state is %q in %v", answer.Get("state"), answer)
	}
	token, err := rp.oauth.Exchange(rp.t.Context(), answer.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		rp.t.Fatal(err)
	}
	idToken, claims := rp.verify(token)
	if idToken.Nonce != nonce {
		rp.t.Errorf("nonce is %q", idToken.Nonce)
	}
	return login{b, token, idToken, claims, answer}
}

func (rp *relyingParty) verify(token *oauth2.Token) (*oidc.IDToken, map[string]any) {
	rp.t.Helper()
	raw, found := token.Extra("id_token").(string)
	if !found {
		rp.t.Fatal("no ID token")
	}
	idToken, err := rp.provider.VerifierContext(rp.t.Context(), &oidc.Config{ClientID: rp.own.ID}).Verify(rp.t.Context(), raw)
	if err != nil {
		rp.t.Fatal(err)
	}
	if err := idToken.VerifyAccessToken(token.AccessToken); err != nil {
		rp.t.Error(err)
	}
	claims := map[string]any{}
	if err := idToken.Claims(&claims); err != nil {
		rp.t.Fatal(err)
	}
	return idToken, claims
}

func (rp *relyingParty) refresh(refreshToken string) (*oauth2.Token, error) {
	source := rp.oauth.TokenSource(context.Background(), &oauth2.Token{RefreshToken: refreshToken})
	return source.Token()
}
