package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
)

// ContinueVersion is the only version of continue tokens that kube-apiserver knows.
const ContinueVersion = "meta.k8s.io/v1"

// ContinueToken is a continue token in the form that kube-apiserver gives out and takes (semantics 2.5). Start is the
// key to go on at, relative to the request's namespace or resource.
type ContinueToken struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"`
	Start   string `json:"start"`
}

// ContinueStyle tells how kube-apiserver writes a token's start; it reads both.
type ContinueStyle string

// The styles.
const (
	CacheStyle ContinueStyle = "/" // of its watch cache
	EtcdStyle  ContinueStyle = ""  // of its storage, for resources without a watch cache
)

// ContinueBehind is the token for what follows a key.
func ContinueBehind(rv int64, key string, style ContinueStyle) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b) // escapes HTML, as the upstream does
	if err := encoder.Encode(ContinueToken{Version: ContinueVersion, RV: rv, Start: string(style) + key + "\x00"}); err != nil {
		panic("BUG: a token that JSON cannot hold: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
