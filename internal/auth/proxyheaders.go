package auth

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// ProxyHeaders are the names of the headers in which a front proxy passes the user; case is ignored. kube-apiserver's
// package for them is not used, because it imports the clients of all APIs (ADR 25).
type ProxyHeaders struct {
	Username, UID, Group []string
	ExtraPrefix          []string // prefixes of the headers that contain extra
}

// read returns the user that the headers name, as kube-apiserver reads it; nil if they contain no name. For the name
// and the UID, the first header counts whose first value is not empty; for groups and extra, all values count. read
// converts the key of an extra to lower case, and decodes a key that is escaped as in a URL's path.
func (h ProxyHeaders) read(header http.Header) *user.DefaultInfo {
	name := first(header, h.Username)
	if name == "" {
		return nil
	}
	info := &user.DefaultInfo{Name: name, UID: first(header, h.UID), Groups: []string{}, Extra: map[string][]string{}}
	for _, named := range h.Group {
		for _, group := range header.Values(named) {
			if group != "" {
				info.Groups = append(info.Groups, group)
			}
		}
	}
	// Sorted, so the values of an extra always have the same order.
	names := slices.Sorted(maps.Keys(header))
	for _, prefix := range h.ExtraPrefix {
		for _, named := range names {
			if rest, ok := cutPrefix(named, prefix); ok {
				key := extraKey(rest)
				info.Extra[key] = append(info.Extra[key], header[named]...)
			}
		}
	}
	return info
}

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

// cutPrefix is strings.CutPrefix, but ignores case.
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
