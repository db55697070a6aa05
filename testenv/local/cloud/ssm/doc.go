// Package ssm is a model of the Parameter Store as far as node images need it:
// the public parameters of the catalog, and parameters an account puts there
// itself. It decides what Get, and listing by path, answer; which images exist
// is decided in package catalog.
//
//	m := ssm.New(ssm.Options{})
//	m.Put("/images/golden", "ami-0123456789abcdef0")
//	c.Register("ssm", ssm.NewHandler(m))
package ssm
