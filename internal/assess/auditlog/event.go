package auditlog

import (
	"bytes"
	"errors"
	"time"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// Event is the part of an audit event that describes the request. Its texts may share memory with the line.
type Event struct {
	// Stage is the stage of the request. Files.Each passes only events of the stages Started and Complete.
	Stage Stage
	Verb  []byte
	URI   []byte // path and query
	User  []byte
	Agent []byte

	Group, Resource, Subresource, Namespace, Name []byte // empty if the path is not the path of a resource

	Code         int  // of the response; 0 if unknown
	Impersonates bool // the caller acts as another user
	Certificate  bool // the caller authenticated with a client certificate

	Received time.Time // when the request arrived
	At       time.Time // when the stage began
}

// Stage is a stage of a request.
type Stage int

// The stages.
const (
	Other    Stage = iota // any other stage, such as the arrival of the request
	Started               // the response to a long-running request began
	Complete              // the response ended, or a panic ended the request
)

var (
	errNoEvent = errors.New("not an event of audit.k8s.io: kind, apiVersion, stage or a time is missing")
	errTime    = errors.New("invalid timestamp")
)

// parse reads one line. It returns an error if the line is not an audit event.
func (e *Event) parse(line []byte) error {
	*e = Event{}
	s := scan.Scanner{Data: line}
	var kind, version, stage []byte
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "kind":
			kind, err = text(&s)
		case "apiVersion":
			version, err = text(&s)
		case "stage":
			stage, err = text(&s)
		default:
			err = e.member(&s, key)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case s.Peek() != 0 || s.Pos < len(line):
		return s.Fail("more than one value in the line")
	case string(kind) != "Event" || !bytes.HasPrefix(version, []byte("audit.k8s.io/")) || len(stage) == 0,
		e.At.IsZero(), e.Received.IsZero():
		return errNoEvent
	}
	switch string(stage) {
	case "ResponseComplete", "Panic":
		e.Stage = Complete
	case "ResponseStarted":
		e.Stage = Started
	}
	return nil
}

func (e *Event) member(s *scan.Scanner, key []byte) (err error) {
	switch string(key) {
	case "verb":
		e.Verb, err = text(s)
	case "requestURI":
		e.URI, err = text(s)
	case "userAgent":
		e.Agent, err = text(s)
	case "user":
		err = e.user(s)
	case "impersonatedUser":
		e.Impersonates = s.Peek() == '{'
		_, err = s.Skip()
	case "objectRef":
		err = e.object(s)
	case "responseStatus":
		err = e.status(s)
	case "requestReceivedTimestamp":
		e.Received, err = timestamp(s)
	case "stageTimestamp":
		e.At, err = timestamp(s)
	default:
		_, err = s.Skip()
	}
	return err
}

// credential is the key in the user's extra for the caller's credential. certificates is the prefix of the value for a
// client certificate.
const (
	credential   = "authentication.kubernetes.io/credential-id"
	certificates = `"X509SHA256=`
)

func (e *Event) user(s *scan.Scanner) error {
	return members(s, func(key []byte) (err error) {
		switch string(key) {
		case "username":
			e.User, err = text(s)
		case "extra":
			err = members(s, func(key []byte) error {
				value, err := s.Skip()
				e.Certificate = e.Certificate || string(key) == credential && bytes.Contains(value, []byte(certificates))
				return err
			})
		default:
			_, err = s.Skip()
		}
		return err
	})
}

func (e *Event) object(s *scan.Scanner) error {
	return members(s, func(key []byte) (err error) {
		switch string(key) {
		case "apiGroup":
			e.Group, err = text(s)
		case "resource":
			e.Resource, err = text(s)
		case "subresource":
			e.Subresource, err = text(s)
		case "namespace":
			e.Namespace, err = text(s)
		case "name":
			e.Name, err = text(s)
		default:
			_, err = s.Skip()
		}
		return err
	})
}

func (e *Event) status(s *scan.Scanner) error {
	return members(s, func(key []byte) error {
		value, err := s.Skip()
		if string(key) == "code" {
			e.Code = number(value)
		}
		return err
	})
}

// members reads an object, or skips any other value.
func members(s *scan.Scanner, member func(key []byte) error) error {
	if s.Peek() != '{' {
		_, err := s.Skip()
		return err
	}
	return s.Object(member)
}

// text reads a string. Any other value counts as empty.
func text(s *scan.Scanner) ([]byte, error) {
	if s.Peek() != '"' {
		_, err := s.Skip()
		return nil, err
	}
	raw, err := s.Text()
	if err == nil && bytes.IndexByte(raw, '\\') >= 0 {
		raw = []byte(scan.Unescape(raw))
	}
	return raw, err
}

func timestamp(s *scan.Scanner) (time.Time, error) {
	raw, err := text(s)
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(raw))
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, errTime
	}
	return at, nil
}

// number returns a small positive integer; 0 for anything else.
func number(digits []byte) (n int) {
	for _, c := range digits {
		if c < '0' || c > '9' || n > 1e6 {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}
