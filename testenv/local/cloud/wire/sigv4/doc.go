// Package sigv4 is the receiving side of AWS Signature Version 4: it decides
// whether a request, or a presigned URL, was signed with the secret of the
// access key it names, and not too long ago. The SDK holds only the sending
// side. Which keys exist belongs to whoever implements Keys; how a refusal is
// worded in each protocol belongs to the front door (package cloud).
//
//	who, err := sigv4.Verifier{Keys: model, Now: clock.Now}.Verify(r, body)
package sigv4
