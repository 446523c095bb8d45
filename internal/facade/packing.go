package facade

import (
	"errors"

	"github.com/listfacade/listfacade/cache"
)

// Packing selects the objects that are stored compressed (cache.Packing). As a flag it is on or off.
type Packing cache.Packing

var errPack = errors.New("must be on or off")

// Set implements pflag.Value.
func (p *Packing) Set(text string) error {
	switch text {
	case "on":
		*p = Packing(cache.DefaultPacking)
	case "off":
		*p = Packing{}
	default:
		return errPack
	}
	return nil
}

func (p *Packing) String() string {
	if p.From == 0 {
		return "off"
	}
	return "on"
}

// Type implements pflag.Value.
func (p *Packing) Type() string { return "on|off" }
