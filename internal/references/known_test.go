package references

import "slices"

// known contains everything that a text may name.
type known struct {
	tree                                 *tree
	flags, targets, sections, invariants map[string]bool
}

// check returns the names in texts that do not exist, as "file:line: message".
func (t *tree) check() ([]string, error) {
	flags, err := t.flags()
	if err != nil {
		return nil, err
	}
	targets, err := t.targets()
	if err != nil {
		return nil, err
	}
	texts, err := t.texts()
	if err != nil {
		return nil, err
	}
	k := &known{t, flags, targets, t.sections(semantics), t.invariants()}
	var breaches []string
	for _, x := range texts {
		breaches = slices.Concat(breaches, k.checkFiles(x), k.checkLinks(x), k.checkFlags(x), k.checkTargets(x),
			k.checkSections(x), k.checkDecisions(x), k.checkInvariants(x))
	}
	return breaches, nil
}
