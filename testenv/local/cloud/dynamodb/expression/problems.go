package expression

// rank orders the static faults of an expression: AWS reports the first kind it checks, not the first place.
type rank int

const (
	redundantParentheses rank = iota
	functionUnknown
	functionMisused
	repeatedSection
	nameReserved
	nameUndefined
	valueUndefined
	operandCount
	operandType
	notDistinct
	pathsOverlap
	ranks
)

// problems keeps the first fault of each rank.
type problems [ranks]error

func (p *problems) addf(r rank, format string, args ...any) {
	if p[r] == nil {
		p[r] = invalidf(format, args...)
	}
}

func (p *problems) add(r rank, err error) {
	if p[r] == nil {
		p[r] = err
	}
}

// first returns the fault AWS would report, nil if there is none.
func (p *problems) first() error {
	for _, err := range p {
		if err != nil {
			return err
		}
	}
	return nil
}
