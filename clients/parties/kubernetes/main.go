// Command kubernetes is what of Kubernetes has to do with an OpenID provider, made of its own packages: the API server's
// authenticator, and kubectl's client with its provider "oidc".
//
//	kubernetes serve ADDRESS FILE   reads the API server's AuthenticationConfiguration and answers who asks
//	kubernetes whoami URL           asks, with the kubeconfig's settings of the provider as JSON on standard input;
//	                                prints the answer and the settings, which a refresh changes
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 3 && arguments[0] == "serve":
		return serve(arguments[1], arguments[2])
	case len(arguments) == 2 && arguments[0] == "whoami":
		return whoami(arguments[1])
	default:
		return fmt.Errorf("usage: kubernetes serve ADDRESS FILE | kubernetes whoami URL")
	}
}

func serve(address, file string) error {
	authentication, err := requestAuthenticator(file)
	if err != nil {
		return err
	}
	http.HandleFunc(reviews, func(response http.ResponseWriter, request *http.Request) {
		found, ok, err := authentication.AuthenticateRequest(request)
		if err != nil || !ok {
			http.Error(response, fmt.Sprintf("Unauthorized: %v", err), http.StatusUnauthorized)
			return
		}
		review := authenticationv1.SelfSubjectReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"},
			Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{
				Username: found.User.GetName(),
				Groups:   found.User.GetGroups(),
			}},
		}
		response.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(response)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(review)
	})
	return http.ListenAndServe(address, nil)
}

// requestAuthenticator does what kube-apiserver does with the file of --authentication-config.
func requestAuthenticator(file string) (authenticator.Request, error) {
	config, err := load(file)
	if err != nil {
		return nil, err
	}
	if len(config.JWT) != 1 {
		return nil, fmt.Errorf("%s has %d issuers", file, len(config.JWT))
	}
	options := oidc.Options{
		JWTAuthenticator:     config.JWT[0],
		SupportedSigningAlgs: oidc.AllValidSigningAlgorithms(),
	}
	if ca := config.JWT[0].Issuer.CertificateAuthority; ca != "" {
		options.CAContentProvider = bundle(ca)
	}
	tokens, err := oidc.New(context.Background(), options)
	if err != nil {
		return nil, err
	}
	return group.NewAuthenticatedGroupAdder(bearertoken.New(tokens)), nil
}

type bundle string

// CurrentCABundleContent is the PEM text of the issuer's CA.
func (b bundle) CurrentCABundleContent() []byte { return []byte(b) }

func load(file string) (*apiserver.AuthenticationConfiguration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	object, err := runtime.Decode(codecs.UniversalDecoder(), text)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*apiserver.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s is a %T", file, object)
	}
	return config, nil
}

// settings are those of the kubeconfig's auth-provider, as kubectl keeps them in its file.
type settings map[string]string

// Persist takes what a refresh changed.
func (s settings) Persist(changed map[string]string) error {
	for name, value := range changed {
		s[name] = value
	}
	return nil
}

func whoami(url string) error {
	kept := settings{}
	if err := json.NewDecoder(os.Stdin).Decode(&kept); err != nil {
		return err
	}
	given := map[string]string{}
	for name, value := range kept {
		given[name] = value
	}
	client, err := rest.HTTPClientFor(&rest.Config{
		Host:                url,
		AuthProvider:        &api.AuthProviderConfig{Name: "oidc", Config: given},
		AuthConfigPersister: kept,
	})
	if err != nil {
		return err
	}
	response, err := client.Get(url + reviews)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, answer)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"review": json.RawMessage(answer), "settings": kept})
}
