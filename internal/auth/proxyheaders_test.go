package auth

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
)

// readByLibrary reads the headers with kube-apiserver's package, which clears them if they name a user.
func readByLibrary(t *testing.T, h ProxyHeaders, header http.Header) *user.DefaultInfo {
	t.Helper()
	of := func(names []string) headerrequest.StaticStringSlice { return names }
	library := headerrequest.NewDynamic(of(h.Username), of(h.UID), of(h.Group), of(h.ExtraPrefix))
	response, ok, err := library.AuthenticateRequest(&http.Request{Header: header})
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return nil
	}
	return response.User.(*user.DefaultInfo)
}

// sameReading checks that headers are read and cleared as by kube-apiserver.
func sameReading(t *testing.T, h ProxyHeaders, header http.Header) {
	t.Helper()
	wantHeader, gotHeader := header.Clone(), header.Clone()
	want, got := readByLibrary(t, h, wantHeader), h.read(gotHeader)
	if got != nil {
		h.clear(gotHeader)
	}
	// The library reads headers in random order, so the values of a key from several headers are in any order.
	for _, caller := range []*user.DefaultInfo{want, got} {
		if caller != nil {
			for _, values := range caller.Extra {
				slices.Sort(values)
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot user  %+v\nwant user %+v", header, got, want)
	}
	if !reflect.DeepEqual(gotHeader, wantHeader) {
		t.Errorf("%v\ngot headers  %v\nwant headers %v", header, gotHeader, wantHeader)
	}
}

func TestProxyHeaders(t *testing.T) {
	usual := ProxyHeaders{
		Username: []string{"X-Remote-User", "x-other-user"}, UID: []string{"X-Remote-Uid"},
		Group: []string{"X-Remote-Group", "X-More-Groups"}, ExtraPrefix: []string{"X-Remote-Extra-", "x-more-extra-"},
	}
	for name, header := range map[string]http.Header{
		"no name header":      {"X-Remote-Group": {"g"}, "X-Remote-Extra-A": {"b"}},
		"no headers":          {},
		"an empty name":       {"X-Remote-User": {""}, "X-Remote-Group": {"g"}},
		"the second name":     {"X-Remote-User": {""}, "X-Other-User": {"u"}},
		"two values":          {"X-Remote-User": {"u", "v"}, "X-Remote-Uid": {"1", "2"}},
		"the first is empty":  {"X-Remote-User": {"", "v"}},
		"groups":              {"X-Remote-User": {"u"}, "X-Remote-Group": {"a", "", "b"}, "X-More-Groups": {"a"}},
		"extra":               {"X-Remote-User": {"u"}, "X-Remote-Extra-Scopes": {"a", ""}, "X-More-Extra-Scopes": {"b"}},
		"an escaped key":      {"X-Remote-User": {"u"}, "X-Remote-Extra-Acme.com%2fproject": {"p"}},
		"a broken escape":     {"X-Remote-User": {"u"}, "X-Remote-Extra-50%": {"p"}, "X-Remote-Extra-%zz": {"p"}},
		"no key":              {"X-Remote-User": {"u"}, "X-Remote-Extra-": {"p"}},
		"not canonical":       {"X-Remote-User": {"u"}, "x-remote-extra-low": {"p"}, "X-REMOTE-EXTRA-LOW": {"q"}, "x-remote-group": {"g"}},
		"something else":      {"X-Remote-User": {"u"}, "X-Remote-Extr": {"p"}, "Accept": {"*/*"}},
		"letters of any case": {"X-Remote-User": {"u"}, "X-Remote-Extra-\u212a": {"p"}},
	} {
		t.Run(name, func(t *testing.T) { sameReading(t, usual, header) })
	}
}

// FuzzProxyHeaders parses lines "name:value" into headers. The first four lines are the configured names, separated by
// commas.
func FuzzProxyHeaders(f *testing.F) {
	f.Add("X-Remote-User\nX-Remote-Uid\nX-Remote-Group\nX-Remote-Extra-\nX-Remote-User:u\nX-Remote-Extra-A%2fb:c\nX-Remote-Group:g")
	f.Add("a,b\nc\nd,a\ne,E\nA:\nB:u\nEf:1\neF:2\nD:g\nD:h")
	f.Add("\n\n\n\n:u")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		if len(lines) < 4 {
			return
		}
		var names [4][]string
		for i := range names {
			names[i] = strings.Split(lines[i], ",")
		}
		header := http.Header{}
		for _, line := range lines[4:] {
			name, value, _ := strings.Cut(line, ":")
			header[name] = append(header[name], value) // a key may be in any case here
		}
		sameReading(t, ProxyHeaders{Username: names[0], UID: names[1], Group: names[2], ExtraPrefix: names[3]}, header)
	})
}
