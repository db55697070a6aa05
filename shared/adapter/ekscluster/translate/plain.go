package translate

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is plain is surely right. Nearly everything is, and need not be put through the validation of Kubernetes, which
// takes longer than all the rest of a translation.

func plainSelector(s *metav1.LabelSelector) bool {
	for key, value := range s.MatchLabels {
		if !plainKey(key) || !plainValue(value) {
			return false
		}
	}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		takesValues := e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn
		if !plainKey(e.Key) || takesValues != (len(e.Values) > 0) || !plainValues(e.Values) {
			return false
		}
	}
	return true
}

// plainKey reports whether a text is surely a label key: a name, perhaps after a domain of lower-case words.
func plainKey(key string) bool {
	domain, name, found := strings.Cut(key, "/")
	if !found {
		return key != "" && plainValue(key)
	}
	if name == "" || !plainValue(name) || !plainValue(domain) || domain == "" || strings.ToLower(domain) != domain {
		return false
	}
	return !strings.ContainsAny(domain, "_") && !strings.Contains(domain, "..") && !strings.Contains(domain,
		".-") && !strings.Contains(domain, "-.")
}

func plainValues(values []string) bool {
	for _, value := range values {
		if !plainValue(value) {
			return false
		}
	}
	return true
}

// plainValue reports whether a text is surely a label value.
func plainValue(value string) bool {
	if len(value) > 63 {
		return false
	}
	for i := range len(value) {
		c := value[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
		if !alphanumeric && (i == 0 || i == len(value)-1 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return true
}
