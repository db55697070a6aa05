package boot

import (
	"fmt"
	"strconv"
)

// Percent is a whole number from 1 to 100. 0 = nothing was written.
type Percent uint8

// UnmarshalText reads a number such as 40, with or without a percent sign.
func (p *Percent) UnmarshalText(text []byte) error {
	digits := string(text)
	if n := len(digits); n > 0 && digits[n-1] == '%' {
		digits = digits[:n-1]
	}
	n, err := strconv.ParseUint(digits, 10, 8)
	if err != nil || n < 1 || n > 100 {
		return fmt.Errorf("%q is not from 1 to 100; write a percentage, such as 40", text)
	}
	*p = Percent(n)
	return nil
}
