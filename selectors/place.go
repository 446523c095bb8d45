package selectors

// Place is where the Attributes of a kind hold the value of a field.
type Place int

// Places besides a position in Kind.Fields.
const (
	atName      Place = -1
	atNamespace Place = -2
	// atNowhere is for labels that are accepted and never set, like a Pod's status.podIPs.
	atNowhere Place = -3
)

// Place finds where Attributes hold the value of a field by its canonical label.
func (k *Kind) Place(label string) Place {
	switch label {
	case nameLabel:
		return atName
	case namespaceLabel:
		return atNamespace
	}
	for i := range k.fields {
		if k.fields[i].Label == label {
			return Place(i)
		}
	}
	return atNowhere
}
