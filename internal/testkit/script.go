package testkit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Action is the action of a script's step.
type Action string

// The actions, with their arguments. Labels are written as in "t=a,u=1", or "-" for none.
const (
	Put      Action = "put"      // RESOURCE NAME LABELS VALUE: creates an object or sets labels and value
	Delete   Action = "delete"   // RESOURCE NAME
	Clear    Action = "clear"    // RESOURCE LABELS: deletes the objects with the labels
	Hold     Action = "hold"     // RESOURCE NAME: adds a finalizer
	Release  Action = "release"  // RESOURCE NAME: removes the finalizers
	Bind     Action = "bind"     // pods NAME NODE
	Redefine Action = "redefine" // RESOURCE PART: changes columns, fields, versions or note of a custom resource
	Recreate Action = "recreate" // RESOURCE: deletes a custom resource's definition, and creates it again
	Destroy  Action = "destroy"  // deletes the namespace with its objects, and creates it again
	Watch    Action = "watch"    // QUESTION: opens a watch at both servers
	Resume   Action = "resume"   // NUMBER: cancels the watch with this number, from 1; resumes it at the facade's version
	Compare  Action = "ask"      // QUESTION: compares the answers of both servers
)

// words has the number of arguments of each action that has no question.
var words = map[Action]int{Put: 4, Delete: 2, Clear: 2, Hold: 2, Release: 2, Bind: 3, Redefine: 2, Recreate: 1,
	Destroy: 0, Resume: 1}

// Step is one line of a script.
type Step struct {
	Do       Action
	Words    []string
	Question Question // of Watch and Compare
}

// Script is a workload: writes to kube-apiserver, with watches that are opened before, between and after them. Its
// lines contain blanks for values of a run. {namespace} is the namespace. {run} is a unique name, also a label of all
// objects. {group} is the group of its custom resources. {version:0} is the version of the last write. {version:3} is
// the version three writes earlier. {version:+3} is the last version plus three.
type Script []Step

// Line returns the step as a line of a file.
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

// ParseScript parses the output of String. It ignores empty lines and lines that begin with #.
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
		return Step{}, fmt.Errorf("parse script step %q: unknown action or wrong number of arguments", line)
	}
	return step, nil
}

var versionBlank = regexp.MustCompile(`\{version:(\+?)(\d+)\}`)

// Fill replaces the blanks of a step by the values of a run. versions are the versions of the run's writes, in order.
// There must be at least one.
func (s Step) Fill(known map[string]string, versions []uint64) Step {
	fill := func(text string) string {
		for blank, value := range known {
			text = strings.ReplaceAll(text, "{"+blank+"}", value)
		}
		return versionBlank.ReplaceAllStringFunc(text, func(blank string) string {
			parts := versionBlank.FindStringSubmatch(blank)
			n, _ := strconv.Atoi(parts[2]) // the expression matches digits only
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
