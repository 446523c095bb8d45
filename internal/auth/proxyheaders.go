package auth

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// ProxyHeaders are how a front proxy says whom a request is from, by the names of headers, whatever their case. They
// are read as kube-apiserver reads them. Its own package for that is not used: with it comes a client of every API
// (ADR 25).
type ProxyHeaders struct {
	Username, UID, Group []string
	ExtraPrefix          []string // what begins the names of headers that are extra
}

// read returns whom the headers name, nil if nobody. Of names and of UIDs the first counts that is not empty, of
// groups and of what is extra all; an extra's key is lower case, and escaped as in a URL's path where a header's name
// could not hold it.
func (h ProxyHeaders) read(header http.Header) *user.DefaultInfo {
	name := first(header, h.Username)
	if name == "" {
		return nil
	}
	who := &user.DefaultInfo{Name: name, UID: first(header, h.UID), Groups: []string{}, Extra: map[string][]string{}}
	for _, named := range h.Group {
		for _, group := range header.Values(named) {
			if group != "" {
				who.Groups = append(who.Groups, group)
			}
		}
	}
	// Sorted, so that the same request always names the same caller.
	names := slices.Sorted(maps.Keys(header))
	for _, prefix := range h.ExtraPrefix {
		for _, named := range names {
			if rest, ok := cutPrefix(named, prefix); ok {
				key := extraKey(rest)
				who.Extra[key] = append(who.Extra[key], header[named]...)
			}
		}
	}
	return who
}

// clear deletes the headers.
func (h ProxyHeaders) clear(header http.Header) {
	for _, names := range [][]string{h.Username, h.UID, h.Group} {
		for _, name := range names {
			header.Del(name)
		}
	}
	for _, prefix := range h.ExtraPrefix {
		maps.DeleteFunc(header, func(name string, _ []string) bool {
			_, ok := cutPrefix(name, prefix)
			return ok
		})
	}
}

func (h ProxyHeaders) equal(other ProxyHeaders) bool {
	return slices.Equal(h.Username, other.Username) && slices.Equal(h.UID, other.UID) &&
		slices.Equal(h.Group, other.Group) && slices.Equal(h.ExtraPrefix, other.ExtraPrefix)
}

func first(header http.Header, names []string) string {
	for _, name := range names {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// cutPrefix is strings.CutPrefix, whatever the case.
func cutPrefix(name, prefix string) (rest string, ok bool) {
	if len(name) < len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
		return "", false
	}
	return name[len(prefix):], true
}

func extraKey(escaped string) string {
	escaped = strings.ToLower(escaped)
	if key, err := url.PathUnescape(escaped); err == nil {
		return key
	}
	return escaped
}
