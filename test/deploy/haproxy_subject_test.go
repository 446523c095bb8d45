package deploy

import (
	"encoding/asn1"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
)

// tagUniversalString is the ASN.1 tag of strings with four bytes per character, which encoding/asn1 does not define.
const tagUniversalString = 28

// attribute is an attribute of a subject.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

var (
	commonName   = asn1.ObjectIdentifier{2, 5, 4, 3}
	organization = asn1.ObjectIdentifier{2, 5, 4, 10}
	kubernetesID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2} // which kube-apiserver takes for the user's UID
)

func cn(tag int, value string) attribute { return valued(commonName, tag, value) }

func o(tag int, value string) attribute { return valued(organization, tag, value) }

func valued(of asn1.ObjectIdentifier, tag int, value string) attribute {
	return attribute{of, asn1.RawValue{Tag: tag, Bytes: []byte(value)}}
}

// subject returns the DER of a subject with these attributes, each in a separate set.
func subject(t *testing.T, attributes ...attribute) []byte {
	t.Helper()
	var sets []asn1.RawValue
	for _, a := range attributes {
		der, err := asn1.MarshalWithParams([]attribute{a}, "set")
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, asn1.RawValue{FullBytes: der})
	}
	der, err := asn1.Marshal(sets)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// HAProxy's headers contain the name that kube-apiserver and OpenSSL read in a certificate, or HAProxy sends no
// headers.
func TestProxyParsesSubjectsLikeUpstream(t *testing.T) {
	const (
		utf8, printable, t61, ia5, bmp = asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagT61String, asn1.TagIA5String, asn1.TagBMPString
		masters                        = "system:masters"
	)
	wide := func(s string, width int) string { // the same characters, in so many bytes each
		pad := strings.Repeat("\x00", width-1)
		return pad + strings.Join(strings.Split(s, ""), pad)
	}
	proxy := newArrivals(t)
	mallory := cn(utf8, "mallory")
	for _, c := range []struct {
		name    string
		subject []attribute
		want    map[string][]string // nil: refused
	}{
		{"PrintableString", []attribute{o(printable, "one"), cn(printable, "alice")}, identity("alice", "one")},
		{"UTF8String", []attribute{o(utf8, "one"), o(utf8, "two"), cn(utf8, "alice")}, identity("alice", "one", "two")},
		{"IA5String", []attribute{o(ia5, "a@b"), cn(ia5, "alice@example.com")}, identity("alice@example.com", "a@b")},
		{"spaces and colons", []attribute{o(printable, masters), o(utf8, "of the house"), cn(utf8, "system:serviceaccount:a:b")},
			identity("system:serviceaccount:a:b", masters, "of the house")},
		{"another attribute", []attribute{valued(asn1.ObjectIdentifier{2, 5, 4, 11}, utf8, "unit"), cn(utf8, "alice")},
			map[string][]string{"X-Remote-User": {"alice"}}},
		{"a thousand bytes", []attribute{cn(utf8, strings.Repeat("a", 1000))},
			map[string][]string{"X-Remote-User": {strings.Repeat("a", 1000)}}},

		{"BMPString that looks like a group", []attribute{o(bmp, masters), mallory}, nil},
		{"BMPString that looks like a second group", []attribute{o(utf8, "one"), o(bmp, masters), mallory}, nil},
		{"BMPString that looks like a name", []attribute{cn(bmp, "system:admin")}, nil},
		{"BMPString of ASCII", []attribute{o(bmp, wide(masters, 2)), mallory}, nil},
		{"UniversalString that looks like a group", []attribute{o(tagUniversalString, "system:nodes"), mallory}, nil},
		{"UniversalString of ASCII", []attribute{o(tagUniversalString, wide(masters, 4)), mallory}, nil},
		{"T61String beyond ASCII", []attribute{o(t61, "caf\xe9"), mallory}, nil},
		{"UTF8String beyond ASCII", []attribute{o(utf8, "café"), mallory}, nil},
		{"UTF8String beyond ASCII as a name", []attribute{cn(utf8, "zoë")}, nil},
		{"UTF8String that is none", []attribute{o(utf8, "a\xff"), mallory}, nil},
		{"OCTET STRING", []attribute{o(asn1.TagOctetString, masters), mallory}, nil},
		{"BIT STRING", []attribute{o(asn1.TagBitString, "\x00"+masters), mallory}, nil},
		{"a space before", []attribute{o(printable, " "+masters), mallory}, nil},
		{"a space behind", []attribute{o(printable, masters+" "), mallory}, nil},
		{"a tab before", []attribute{o(utf8, "\t"+masters), mallory}, nil},
		{"a new line behind", []attribute{cn(utf8, "mallory\n")}, nil},
		{"a zero byte", []attribute{o(utf8, masters+"\x00x"), mallory}, nil},
		{"a UID", []attribute{valued(kubernetesID, utf8, "1"), mallory}, nil},
		{"very long", []attribute{o(bmp, masters), mallory, valued(asn1.ObjectIdentifier{2, 5, 4, 11}, utf8, strings.Repeat("a", 33000))}, nil},
		{"too long", []attribute{o(bmp, masters), mallory, valued(asn1.ObjectIdentifier{2, 5, 4, 11}, utf8, strings.Repeat("a", 70000))}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			pair := proxy.users.Certify(t, testkit.Certificate{Subject: subject(t, c.subject...)})
			if c.want != nil {
				got := proxy.at(t, http.MethodGet, "/api/v1/pods", nil, &pair)
				if diff := cmp.Diff(c.want, said(got.Header)); diff != "" {
					t.Errorf("headers to %s (-want +got)\n%s", got.Server, diff)
				}
				return
			}
			response, err := proxy.send(t, http.MethodGet, "/api/v1/pods", nil, &pair)
			if err != nil {
				return // the handshake failed
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusForbidden {
				body, _ := io.ReadAll(response.Body)
				t.Errorf("%s: %s", response.Status, body)
			}
		})
	}
}
