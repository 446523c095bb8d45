package assess

import (
	"bytes"

	"github.com/listfacade/listfacade/internal/observe"
)

// Client stands for all callers with the same program, and the same user or pattern of users.
type Client struct {
	User    string `json:"user"`    // one user, or a pattern such as system:node:*
	Program string `json:"program"` // first word of the user agent, without its version
}

// Others stands for all clients that are not listed.
const Others = "(others)"

// groups are prefixes of user names. All users with such a prefix count as one client, because each machine has its own
// user.
var groups = [][]byte{[]byte("system:node:"), []byte("system:bootstrap:")}

// userOf returns the user, or its prefix in groups. Service accounts need no prefix, because all pods of a service
// account have the same user.
func userOf(name []byte) (user []byte, isGroup bool) {
	for _, group := range groups {
		if bytes.HasPrefix(name, group) {
			return group, true
		}
	}
	return name, false
}

// programOf returns the first word of a user agent up to its version: kubectl/v1.37.1 (linux/amd64) is kubectl.
func programOf(agent []byte) []byte {
	if end := bytes.IndexAny(agent, "/ ("); end >= 0 {
		return agent[:end]
	}
	return agent
}

// longestText is the length to which texts of clients are cut, in bytes.
const longestText = 128

// clientOf returns a client whose texts are printable and share no memory with the log.
func clientOf(user, program []byte) Client {
	c := Client{User: printable(user), Program: printable(program)}
	if _, group := userOf(user); group {
		c.User += "*"
	}
	return c
}

func printable(text []byte) string { return observe.Printable(string(text), longestText) }
