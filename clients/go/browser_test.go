package clients

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	formTag   = regexp.MustCompile(`(?s)<form\b([^>]*)>(.*?)</form>`)
	inputTag  = regexp.MustCompile(`<input\b[^>]*>`)
	attribute = regexp.MustCompile(`\s([a-z-]+)="([^"]*)"`)
)

func attributes(tag string) map[string]string {
	found := map[string]string{}
	for _, match := range attribute.FindAllStringSubmatch(tag, -1) {
		found[match[1]] = html.UnescapeString(match[2])
	}
	return found
}

// form finds the form with an id: where it goes, and the fields that are filled in already.
func form(page, id string) (string, url.Values, bool) {
	for _, match := range formTag.FindAllStringSubmatch(page, -1) {
		own := attributes(match[1])
		if own["id"] != id {
			continue
		}
		fields := url.Values{}
		for _, input := range inputTag.FindAllString(match[2], -1) {
			if field := attributes(input); field["name"] != "" {
				fields.Add(field["name"], field["value"])
			}
		}
		return own["action"], fields, true
	}
	return "", nil, false
}

// browser keeps cookies, follows the provider's redirects and fills in its forms.
type browser struct {
	t     *testing.T
	http  *http.Client
	pages []string
}

func newBrowser(t *testing.T) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{t: t, http: &http.Client{Jar: jar, CheckRedirect: stay, Timeout: 20 * time.Second}}
}

// visit goes to the provider, does what its pages ask for, and answers with the URL to which it leads away.
func (b *browser) visit(address string) *url.URL {
	b.t.Helper()
	request, err := http.NewRequest(http.MethodGet, address, nil)
	for range 12 {
		if err != nil {
			b.t.Fatal(err)
		}
		request.Header.Set("Accept", "text/html")
		response, page := b.send(request)
		if location, missing := response.Location(); missing == nil {
			if !strings.HasPrefix(location.String(), fixtures.BaseURL+"/") {
				return location
			}
			request, err = http.NewRequest(http.MethodGet, location.String(), nil)
			continue
		}
		request, err = b.fillIn(request.URL, page)
	}
	b.t.Fatalf("the provider led in circles, last to %s", request.URL)
	return nil
}

func (b *browser) send(request *http.Request) (*http.Response, string) {
	b.t.Helper()
	response, err := b.http.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response, string(page)
}

func (b *browser) fillIn(at *url.URL, page string) (*http.Request, error) {
	answers := map[string]url.Values{
		"login":   {"username": {fixtures.User.Email}, "password": {fixtures.User.Password}},
		"consent": {"decision": {"allow"}},
	}
	for id, values := range answers {
		action, fields, found := form(page, id)
		if !found {
			continue
		}
		for _, seen := range b.pages {
			if seen == id {
				return nil, fmt.Errorf("the page %s came twice", id)
			}
		}
		b.pages = append(b.pages, id)
		for name, value := range values {
			fields[name] = value
		}
		target, err := at.Parse(action)
		if err != nil {
			return nil, err
		}
		request, err := http.NewRequest(http.MethodPost, target.String(), strings.NewReader(fields.Encode()))
		if err == nil {
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set("Origin", fixtures.BaseURL)
		}
		return request, err
	}
	return nil, fmt.Errorf("no form to fill in at %s: %s", at, page)
}
