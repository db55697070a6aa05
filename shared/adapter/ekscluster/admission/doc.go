// Package admission speaks the API server's side of admission webhooks: it reads an AdmissionReview
// (admission.k8s.io/v1) of a NodePool, an EC2NodeClass or a NodeClaim, has it validated, and writes the answer: what is
// refused as the causes of an Invalid status, what is odd as warnings, which kubectl prints. It decides nothing.
//
// Objects nobody here looks at are allowed: other kinds, other providers' classes, subresources, NodeClaims that a
// controller makes. A review that cannot be read is an error, and the API server goes on by the webhook's failure
// policy.
//
//	answer, err := admission.Handle(ctx, body, func(ctx context.Context, a model.Admission) model.Verdict { … })
//	http.Handle("POST /admit", admission.Handler(evaluate, report))
package admission
