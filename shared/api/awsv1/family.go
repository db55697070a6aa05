package awsv1

import "strings"

// AMIFamily says how user data is written, which disks an instance has by default and how many pods it can hold.
//
// +kubebuilder:validation:Enum=AL2;AL2023;Bottlerocket;Custom;Windows2019;Windows2022;Windows2025
type AMIFamily string

// The image families.
const (
	FamilyAL2          AMIFamily = "AL2"
	FamilyAL2023       AMIFamily = "AL2023"
	FamilyBottlerocket AMIFamily = "Bottlerocket"
	FamilyCustom       AMIFamily = "Custom"
	FamilyWindows2019  AMIFamily = "Windows2019"
	FamilyWindows2022  AMIFamily = "Windows2022"
	FamilyWindows2025  AMIFamily = "Windows2025"
)

// Alias is an AMISelectorTerm's alias taken apart.
type Alias struct {
	Family AMIFamily
	// Version is "latest" or a release such as v20250212.
	Version string
}

// ParseAlias takes family@version apart. ok is false where text has another form or names an unknown family.
func ParseAlias(text string) (alias Alias, ok bool) {
	name, version, found := strings.Cut(text, "@")
	if !found || version == "" {
		return Alias{}, false
	}
	for _, family := range []AMIFamily{
		FamilyAL2, FamilyAL2023, FamilyBottlerocket, FamilyWindows2019, FamilyWindows2022, FamilyWindows2025,
	} {
		if strings.ToLower(string(family)) == name {
			return Alias{Family: family, Version: version}, true
		}
	}
	return Alias{}, false
}

// Alias returns the alias the class selects its image by; ok is false where it has none.
func (c *EC2NodeClass) Alias() (alias Alias, ok bool) {
	for _, term := range c.Spec.AMISelectorTerms {
		if alias, ok = ParseAlias(term.Alias); ok {
			return alias, true
		}
	}
	return Alias{}, false
}

// AMIFamily returns the family in force: the one the class names, else that of its alias, else Custom.
func (c *EC2NodeClass) AMIFamily() AMIFamily {
	if c.Spec.AMIFamily != nil {
		return *c.Spec.AMIFamily
	}
	if alias, ok := c.Alias(); ok {
		return alias.Family
	}
	return FamilyCustom
}
