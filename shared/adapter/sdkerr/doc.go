// Package sdkerr turns what the AWS SDK returns into errors of a kind (fault.Kind), which callers act on. What a code
// means is each service's own: an adapter says it in one function, and no other part of Joiner knows codes of AWS.
//
//	func kindOf(code string) fault.Kind { … }
//
//	return sdkerr.Wrap(err, kindOf, "describe cluster %s", name)
//
// S3 says it with the status of its answer, see WrapStatus.
package sdkerr
