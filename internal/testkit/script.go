package testkit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Action is what a step of a script does.
type Action string

// The actions, with the words that follow them. Labels are written as in "t=a,u=1", or "-" for none.
const (
	Put      Action = "put"      // RESOURCE NAME LABELS VALUE: makes an object, or brings it to these labels and value
	Delete   Action = "delete"   // RESOURCE NAME
	Clear    Action = "clear"    // RESOURCE LABELS: deletes the collection, of what has the labels
	Hold     Action = "hold"     // RESOURCE NAME: adds a finalizer
	Release  Action = "release"  // RESOURCE NAME: takes finalizers away
	Bind     Action = "bind"     // pods NAME NODE
	Redefine Action = "redefine" // RESOURCE PART: changes columns, fields, versions or note of a custom resource
	Recreate Action = "recreate" // RESOURCE: deletes a custom resource's definition, and makes it again
	Destroy  Action = "destroy"  // deletes the namespace with all that is in it, and makes it again
	Watch    Action = "watch"    // QUESTION: opens a watch at both servers
	Resume   Action = "resume"   // NUMBER: breaks a watch off, and opens it where the facade's was; watches count from 1
	Compare  Action = "ask"      // QUESTION: compares the answers of both servers
)

// words is how many follow each action that has no question.
var words = map[Action]int{Put: 4, Delete: 2, Clear: 2, Hold: 2, Release: 2, Bind: 3, Redefine: 2, Recreate: 1, Destroy: 0, Resume: 1}

// Step is one line of a script.
type Step struct {
	Do       Action
	Words    []string
	Question Question // of Watch and Compare
}

// Script is a workload: writes to kube-apiserver, and watches that are opened before, among and after them. Its lines
// have blanks for what differs from run to run: {namespace}; {run}, a name of its own, and a label that all its objects
// have; {group}, of its custom resources; and versions, where {version:0} is that of the write before, {version:3} that
// of three writes earlier, {version:+3} one that is three above.
type Script []Step

// Line is the step as it stands in a file.
func (s Step) Line() string {
	if s.asks() {
		return string(s.Do) + " " + s.Question.Line()
	}
	return strings.Join(append([]string{string(s.Do)}, s.Words...), " ")
}

func (s Step) asks() bool { return s.Do == Watch || s.Do == Compare }

func (s Script) String() string {
	var b strings.Builder
	for _, step := range s {
		b.WriteString(step.Line() + "\n")
	}
	return b.String()
}

// ParseScript reads what String wrote. Empty lines and those that begin with # are left out.
func ParseScript(text string) (Script, error) {
	var script Script
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		step, err := parseStep(line)
		if err != nil {
			return nil, err
		}
		script = append(script, step)
	}
	return script, nil
}

func parseStep(line string) (Step, error) {
	action, rest, _ := strings.Cut(line, " ")
	step := Step{Do: Action(action)}
	if step.asks() {
		var err error
		step.Question, err = ParseQuestion(rest)
		return step, err
	}
	n, ok := words[step.Do]
	if step.Words = strings.Fields(rest); !ok || len(step.Words) != n {
		return Step{}, fmt.Errorf("no step of a script: %q", line)
	}
	return step, nil
}

var versionBlank = regexp.MustCompile(`\{version:(\+?)(\d+)\}`)

// Fill puts what a run knows into a step's blanks; versions are those of its writes, in their order, at least one.
func (s Step) Fill(known map[string]string, versions []uint64) Step {
	fill := func(text string) string {
		for blank, value := range known {
			text = strings.ReplaceAll(text, "{"+blank+"}", value)
		}
		return versionBlank.ReplaceAllStringFunc(text, func(blank string) string {
			parts := versionBlank.FindStringSubmatch(blank)
			n, _ := strconv.Atoi(parts[2]) // digits, by the expression
			last := len(versions) - 1
			if parts[1] == "+" {
				return strconv.FormatUint(versions[last]+uint64(n), 10)
			}
			return strconv.FormatUint(versions[max(last-n, 0)], 10)
		})
	}
	s.Words = slices.Clone(s.Words)
	for i := range s.Words {
		s.Words[i] = fill(s.Words[i])
	}
	s.Question.Path = fill(s.Question.Path)
	return s
}
