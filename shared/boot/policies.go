package boot

import "fmt"

// Policies are the operator's words on how strictly what people ask for is taken: whoever launches and whoever disrupts have the
// same ones, or each would undo what the other does. Embed it in the settings of a program.
type Policies struct {
	Preferences PreferencePolicy `env:"JOINER_PREFERENCE_POLICY"`
	MinValues   MinValuesPolicy  `env:"JOINER_MIN_VALUES_POLICY"`
}

// PreferencePolicy says what preferred terms of pods ask for.
type PreferencePolicy string

// Respect has preferred terms kept where that does not cost too much; "" means the same. With Ignore they are left to
// kube-scheduler.
const (
	Respect PreferencePolicy = "Respect"
	Ignore  PreferencePolicy = "Ignore"
)

// UnmarshalText reads one of the two.
func (p *PreferencePolicy) UnmarshalText(text []byte) error {
	return oneOf(p, text, Respect, Ignore)
}

// MinValuesPolicy says what becomes of minValues that cannot be met.
type MinValuesPolicy string

// With Strict pods are refused, with "" too; with BestEffort the number is lowered.
const (
	MinValuesPolicyStrict     MinValuesPolicy = "Strict"
	MinValuesPolicyBestEffort MinValuesPolicy = "BestEffort"
)

// UnmarshalText reads one of the two.
func (p *MinValuesPolicy) UnmarshalText(text []byte) error {
	return oneOf(p, text, MinValuesPolicyStrict, MinValuesPolicyBestEffort)
}

func oneOf[T ~string](into *T, text []byte, usual, other T) error {
	switch *into = T(text); *into {
	case usual, other, "":
		return nil
	}
	return fmt.Errorf("%q is none of %s and %s", text, usual, other)
}
