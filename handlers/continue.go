package handlers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/observe"
)

// tokenVersion is the only version of continue tokens that kube-apiserver knows.
const tokenVersion = "meta.k8s.io/v1"

// token is a continue token in the form that kube-apiserver gives out and takes (semantics 2.5), so that each server's
// tokens work at the other. Start is the key to go on at, relative to the request's namespace or resource.
type token struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"`
	Start   string `json:"start"`
}

// tokenStyle tells how kube-apiserver writes a token's start; it reads both.
type tokenStyle string

const (
	cacheStyle tokenStyle = "/" // by its watch cache
	etcdStyle  tokenStyle = ""  // by its storage, for resources without a watch cache
)

// encodeToken makes the token for what follows an object's key in a list of the prefix.
func encodeToken(rv cache.RV, last, prefix string, style tokenStyle) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b) // escapes HTML, as the upstream does
	start := string(style) + strings.TrimPrefix(last, prefix) + "\x00"
	if err := encoder.Encode(token{Version: tokenVersion, RV: int64(rv), Start: start}); err != nil {
		panic("BUG: a token that JSON cannot hold: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// decodeToken reads a token. Its errors are kube-apiserver's; a negative RV means "the rest, as it is now".
func decodeToken(s, prefix string) (start string, rv int64, err error) {
	fail := func(why string) (string, int64, error) {
		return "", 0, badRequest("invalid continue token: continue key is not valid: " + why)
	}
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return fail(err.Error())
	}
	var t token
	err = json.Unmarshal(data, &t)
	if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		return "", 0, forwardFor(observe.OwnWords) // the words name kube-apiserver's own Go types
	}
	if err != nil {
		return fail(err.Error())
	}
	switch {
	case t.Version != tokenVersion:
		return fail(fmt.Sprintf("server does not recognize this encoded version %v", t.Version))
	case t.RV == 0:
		return fail("incorrect encoded start resourceVersion (version " + tokenVersion + ")")
	case t.Start == "":
		return fail("encoded start key empty (version " + tokenVersion + ")")
	}
	// A start that leaves the request's prefix would read what was not asked for.
	key := t.Start
	if !strings.HasPrefix(key, "/") {
		key = "/" + key
	}
	if cleaned := path.Clean(key); cleaned != key {
		return fail(t.Start)
	}
	return prefix + key[1:], t.RV, nil
}
