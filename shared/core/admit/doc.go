// Package admit says what is to be said of a NodePool, an EC2NodeClass or a NodeClaim made by hand before it is stored:
// what makes it nonsense, which is refused, and what is allowed and may not be meant, of which people are warned while
// they still look.
//
// It adds to what the definitions' own rules refuse whatever only shows beside something else: two requirements that
// exclude each other, a schedule that is none, a class that is not there, a pool that another one hides; and whatever
// the region's catalog shows: how many instance types match and from what price, or which requirement leaves none. It
// asks nobody: what is not known ([Facts]) is not mentioned. An object that is stored already is never refused for what
// was wrong with it before.
//
// What matches is core/offering's to say, what a budget means core/disruption's, what requirements mean
// core/requirement's.
//
//	verdict := admit.Evaluate(model.Admission{Operation: model.OperationCreate, Pool: &pool}, admit.Facts{InstanceTypes: types})
//	for _, refusal := range verdict.Refusals {
//		fmt.Println(refusal) // spec.disruption.budgets[0].schedule: "99 * * * *": … Remedy: …
//	}
package admit
