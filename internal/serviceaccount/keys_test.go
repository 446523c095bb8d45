package serviceaccount

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	jose "gopkg.in/go-jose/go-jose.v2"
)

// A token is verified only with the key of its ID, the right algorithm and the published issuer.
func TestSignaturesAreVerified(t *testing.T) {
	for name, own := range map[string]*issuer{"ECDSA": newIssuer(t), "RSA": newRSAIssuer(t)} {
		token := own.sign(t, usual())
		parts := strings.Split(token, ".")
		other, renamed := newIssuer(t), *own
		renamed.id = "two"
		foreign := own.sign(t, usual(func(public, _ object) { public["iss"] = "https://other" }))
		for what, c := range map[string]struct {
			token string
			want  error
		}{
			"its own":             {token, nil},
			"an unknown key":      {renamed.sign(t, usual()), ErrUnknownKey},
			"another key":         {other.sign(t, usual()), errSignature},
			"another issuer":      {foreign, ErrUnusual},
			"another payload":     {parts[0] + "." + strings.Split(foreign, ".")[1] + "." + parts[2], ErrUnusual},
			"changed claims":      {parts[0] + "." + encode(t, usual(func(public, _ object) { public["jti"] = "2" })) + "." + parts[2], errSignature},
			"no signature":        {parts[0] + "." + parts[1] + ".", errSignature},
			"no algorithm":        {encode(t, object{"alg": "none", "kid": "one"}) + "." + parts[1] + ".", ErrUnusual},
			"a symmetric key":     {encode(t, object{"alg": "HS256", "kid": "one"}) + "." + parts[1] + "." + parts[2], ErrUnusual},
			"its key in a header": {encode(t, object{"alg": own.alg, "kid": "one", "jwk": jwk(t, own)}) + "." + parts[1] + "." + parts[2], ErrUnusual},
			"no key ID":           {encode(t, object{"alg": own.alg}) + "." + parts[1] + "." + parts[2], ErrUnusual},
			"an unknown header":   {encode(t, object{"alg": own.alg, "kid": "one", "crit": []string{"x"}, "x": 1}) + "." + parts[1] + "." + parts[2], errSignature},
			"white space":         {token + " ", ErrUnusual},
			"more parts":          {token + ".", ErrUnusual},
			"JSON":                {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, ErrUnusual},
			"no token":            {"", ErrUnusual},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				u, err := Parse(c.token)
				if err == nil {
					_, err = own.keys(t).Verify(u)
				}
				if !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		}
	}
}

// A token is trusted while its key is published under the same ID.
func TestTrustEndsWithTheKey(t *testing.T) {
	own := newIssuer(t)
	u, err := Parse(own.sign(t, usual()))
	if err != nil {
		t.Fatal(err)
	}
	token, err := own.keys(t).Verify(u)
	if err != nil {
		t.Fatal(err)
	}
	renamed := *own
	renamed.id = "two"
	for name, c := range map[string]struct {
		keys *Keys
		want bool
	}{"the same": {own.keys(t), true}, "another key": {newIssuer(t).keys(t), false}, "another ID": {renamed.keys(t), false}} {
		if got := c.keys.Trusts(token); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

func TestKeySetsAreParsed(t *testing.T) {
	own := newIssuer(t)
	key := jwk(t, own)
	for name, c := range map[string]struct {
		discovery, keys string
		want            error
	}{
		"one key":         {`{"issuer":"a"}`, `{"keys":[` + key + `]}`, nil},
		"no issuer":       {`{}`, `{"keys":[` + key + `]}`, errNoIssuer},
		"no keys":         {`{"issuer":"a"}`, `{"keys":[]}`, errNoKeys},
		"a symmetric key": {`{"issuer":"a"}`, `{"keys":[{"kty":"oct","kid":"one","k":"AAAA"}]}`, errNoKeys},
		"one key twice":   {`{"issuer":"a"}`, `{"keys":[` + key + `,` + key + `]}`, errKeyTwice},
	} {
		if _, err := ParseKeys([]byte(c.discovery), []byte(c.keys)); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	for _, text := range []string{"", "<html>", `{"kind":"Status"}`} {
		if _, err := ParseKeys([]byte(text), []byte(text)); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}

func jwk(t *testing.T, i *issuer) string {
	t.Helper()
	key, err := json.Marshal(jose.JSONWebKey{Key: i.key.Public(), KeyID: i.id})
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
