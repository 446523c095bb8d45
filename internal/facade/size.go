package facade

import (
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Size is a number of bytes that is set as a quantity, such as 10Gi. It is not below 0.
type Size int64

// Set implements pflag.Value.
func (s *Size) Set(text string) error {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return fmt.Errorf("must be a quantity such as 10Gi: %w", err)
	}
	if *s = Size(quantity.Value()); *s < 0 {
		return errors.New("must not be below 0")
	}
	return nil
}

func (s *Size) String() string { return strconv.FormatInt(int64(*s), 10) }

// Type implements pflag.Value.
func (s *Size) Type() string { return "quantity" }
