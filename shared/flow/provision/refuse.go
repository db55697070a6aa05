package provision

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	refusedFor    = int64(60)  // seconds nothing is launched from a class that was refused for the first time; doubles
	unknownFor    = int64(10)  // the same where EC2 may not know an instance profile yet, which was made a moment ago
	refusedAtMost = int64(600) // since what is wrong may lie outside of the class
)

// reasons name what is wrong with a launch, for people and conditions. An error is of the first whose texts it all has, in
// code or message, whatever their case. Source: the error codes of the EC2 API reference; the names are Karpenter's.
var reasons = []struct {
	reason string
	texts  []string // alternatives within one are separated by |
}{
	{"SpotSLRCreationFailed", []string{"AuthFailure.ServiceLinkedRoleCreationNotPermitted"}},
	{"AMIAuthorizationFailure", []string{denied, "not authorized for images"}},
	{"Unauthorized", []string{denied}},
	{"SecurityGroupSubnetVPCMismatch", []string{"InvalidParameter", "different networks"}},
	{profileInvalid, []string{"iamInstanceProfile.name", "invalid"}},
	{templateNotFound, []string{"InvalidLaunchTemplateId.NotFound|InvalidLaunchTemplateName.NotFound"}},
	{"UserDataSizeLimitExceeded", []string{"UserDataSizeLimitExceeded|user data is limited to"}},
	{"InvalidAMIID", []string{"InvalidAMIID.Malformed"}},
	{"AMINotFound", []string{"InvalidAMIID.NotFound"}},
	{"RequestLimitExceeded", []string{"RequestLimitExceeded"}},
	{"InternalError", []string{"InternalError"}},
	{"FreeTierIneligible", []string{"not eligible for Free Tier"}},
	{"FleetQuotaExceeded", []string{"MaxFleetCountExceeded"}},
	{"AccountPendingVerification", []string{"PendingVerification"}},
	{"SpotQuotaExceeded", []string{"MaxSpotInstanceCountExceeded"}},
	{"VCPULimitExceeded", []string{"VcpuLimitExceeded"}},
	{"InsufficientFreeAddressesInSubnet", []string{"InsufficientFreeAddressesInSubnet"}},
}

const (
	templateNotFound = "LaunchTemplateNotFound"
	profileInvalid   = "InstanceProfileNameInvalid"
)

const denied = "UnauthorizedOperation|AccessDenied|AuthFailure"

// reasonOf classifies an error of EC2's.
func reasonOf(code, message string) string {
	text := strings.ToLower(code + ": " + message)
	for _, r := range reasons {
		all := true
		for _, alternatives := range r.texts {
			has := func(one string) bool { return strings.Contains(text, one) }
			all = all && slices.ContainsFunc(strings.Split(strings.ToLower(alternatives), "|"), has)
		}
		if all {
			return r.reason
		}
	}
	return "LaunchFailed"
}

// refused notes that nothing can be launched from a class, or not now, and tells the class. It reports whether another
// plan, without the class, may do better.
func (r *pass) refused(class model.Class, pool string, err error, blocked map[string]string) bool {
	switch fault.KindOf(err) {
	case fault.Denied, fault.Invalid, fault.NotFound:
	default:
		r.problem("launch of NodePool %s: %v", pool, err)
		if r.putOff[pool] = fault.CodeOf(err); r.putOff[pool] == "" {
			r.putOff[pool] = "EC2 does not answer"
		}
		return false
	}
	if _, known := blocked[class.Name]; !known {
		blocked[class.Name] = err.Error()
		r.refuse(class, reasonOf(fault.CodeOf(err), err.Error()), fmt.Sprintf("%s: %v", launcher(pool), err))
	}
	return true
}

// refuse leaves a class alone for a while, the longer the more often in a row, and says so on the class. A refusal that has been over for
// refusedAtMost is not in a row with this one. A launch template is made again with each request: where EC2 does not know it yet, that says
// nothing of the class, which is tried again after refusedFor however often it was so.
func (r *pass) refuse(class model.Class, reason, message string) {
	refusal := model.ClassRefusal{Class: class.Name, Inputs: offering.Inputs(class), Reason: reason, Message: message, Failures: 1}
	var others []model.ClassRefusal
	for _, before := range r.ledger.Notes.Refusals {
		if before.Class != class.Name {
			others = append(others, before)
		} else if before.Inputs == refusal.Inputs && r.now()-before.UntilUnix < refusedAtMost {
			refusal.Failures = before.Failures + 1
		}
	}
	wait := min(refusedAtMost, refusedFor<<min(refusal.Failures-1, 10))
	switch reason {
	case templateNotFound:
		wait = refusedFor
	case profileInvalid: // IAM is eventually consistent. Source: IAM user guide, troubleshooting
		wait = min(refusedAtMost, unknownFor<<min(refusal.Failures-1, 10))
	}
	refusal.UntilUnix = r.now() + wait
	others = append(others, refusal)
	sort.Slice(others, func(i, j int) bool { return others[i].Class < others[j].Class })
	r.ledger.Notes.Refusals, r.noted = others, true
	r.event(model.Event{Kind: "EC2NodeClass", Name: class.Name, UID: class.UID, Warning: true, Reason: "LaunchFailed", Message: message})
	r.problem("EC2NodeClass %s: %s", class.Name, message)
	status := class.Status
	if known, ok := r.classes[class.Name]; ok {
		status = known.Status // as it was resolved, without what was taken since
	}
	for _, report := range r.report.Classes {
		if report.Class == class.Name {
			return // conditions adds the refusal
		}
	}
	r.report.Classes = append(r.report.Classes, model.ClassReport{Class: class.Name, UID: class.UID, Status: status})
}

// accepted forgets that a class was refused, since EC2 has launched from it.
func (r *pass) accepted(class string) {
	for i, refusal := range r.ledger.Notes.Refusals {
		if refusal.Class == class {
			r.ledger.Notes.Refusals, r.noted = append(r.ledger.Notes.Refusals[:i:i], r.ledger.Notes.Refusals[i+1:]...), true
			return
		}
	}
}

// refusalOf returns the refusal that holds a class now, nil where none does.
func (r *pass) refusalOf(class model.Class) *model.ClassRefusal {
	return offering.Refusal(class, r.ledger.Notes.Refusals, r.now())
}

// refusedClass says why a class is left alone after EC2 refused it, "" where it is not.
func (r *pass) refusedClass(class model.Class) string {
	if refusal := r.refusalOf(class); refusal != nil {
		return fmt.Sprintf("%s: %s", refusal.Reason, refusal.Message)
	}
	return ""
}

// withRefusals adds to what is reported of classes that EC2 refuses them.
func (r *pass) withRefusals() {
	for i := range r.report.Classes {
		report := &r.report.Classes[i]
		for _, class := range r.snapshot.Classes {
			if class.Name != report.Class {
				continue
			}
			report.Status = offering.Refused(report.Status, r.refusalOf(class))
		}
	}
}
