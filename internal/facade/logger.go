package facade

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/listfacade/listfacade/internal/observe"
)

// newLogger writes to stderr, for people or for machines, at a level that can be changed.
func newLogger(c Config) (*zap.Logger, *observe.Level, error) {
	level, err := zapcore.ParseLevel(c.LogLevel)
	if err != nil {
		return nil, nil, fmt.Errorf("--log-level: %w", err)
	}
	settings := zap.NewProductionConfig()
	if c.LogFormat == "console" {
		settings = zap.NewDevelopmentConfig()
		settings.Development, settings.DisableStacktrace = false, true
	}
	settings.DisableCaller = true
	every := settings // at the level that it has by itself, and without leaving lines out: it shows every change
	every.Sampling = nil
	notices, err := every.Build()
	if err != nil {
		return nil, nil, err
	}
	settings.Level = zap.NewAtomicLevelAt(level)
	log, err := settings.Build()
	return log, observe.NewLevel(settings.Level, notices, setVerbosity), err
}
