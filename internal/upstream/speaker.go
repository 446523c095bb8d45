package upstream

import "k8s.io/apiserver/pkg/authentication/user"

// Speaker stub
type Speaker struct {
	kind  int
	token string
	info  user.Info
}

func AsFacade() Speaker                     { return Speaker{} }
func Anonymously() Speaker                  { return Speaker{kind: 1} }
func WithToken(token string) Speaker        { return Speaker{kind: 2, token: token} }
func Impersonating(info user.Info) Speaker  { return Speaker{kind: 3, info: info} }
