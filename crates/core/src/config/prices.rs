//! Prices of models, to compute costs. Only the user's own are used: there are no built-in ones, because they change.

use super::ConfigError;
use super::node::Content;
use super::table::{Source, Table, mismatch, table_of, text_of};

/// The currency unless the file has another.
const CURRENCY: &str = "$";

/// Prices by model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    /// The currency, in front of amounts.
    pub currency: Option<String>,
    /// Names and prices, in the file's order. A name ending in `*` matches all names with that prefix.
    pub models: Vec<(String, Price)>,
}

/// The price of a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Input that was read from the provider's cache; else it costs what input costs.
    pub cached: Option<f64>,
    /// Output that was used for reasoning; else it costs what output costs.
    pub reasoning: Option<f64>,
}

/// Numbers of tokens. The cached ones are a part of the input, those for reasoning a part of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    pub reasoning: u64,
}

impl Price {
    /// Returns the cost of tokens.
    pub fn cost(&self, tokens: Tokens) -> f64 {
        let parts = [
            (tokens.input.saturating_sub(tokens.cached), self.input),
            (
                tokens.cached.min(tokens.input),
                self.cached.unwrap_or(self.input),
            ),
            (tokens.output.saturating_sub(tokens.reasoning), self.output),
            (
                tokens.reasoning.min(tokens.output),
                self.reasoning.unwrap_or(self.output),
            ),
        ];
        parts
            .into_iter()
            .map(|(count, price)| count as f64 * price / 1e6)
            .sum()
    }
}

impl Prices {
    /// Returns the price of a model: an exact match, else the longest matching prefix.
    pub fn of(&self, model: &str) -> Option<Price> {
        let exact = self.models.iter().find(|(name, _)| name == model);
        let starts = self
            .models
            .iter()
            .filter(|(name, _)| name.strip_suffix('*').is_some_and(|s| model.starts_with(s)));
        exact
            .or_else(|| starts.max_by_key(|(name, _)| name.len()))
            .map(|(_, price)| *price)
    }

    /// Formats an amount: `$0.0142`, `$12.40`.
    pub fn amount(&self, cost: f64) -> String {
        let currency = self.currency.as_deref().unwrap_or(CURRENCY);
        if cost < 1.0 {
            format!("{currency}{cost:.4}")
        } else {
            format!("{currency}{cost:.2}")
        }
    }
}

/// Parses `[prices]`: a currency, and a table for each model.
pub(super) fn prices<'s>(
    source: &'s Source<'s>,
    table: &Table<'s, '_>,
) -> Result<Prices, ConfigError> {
    let mut prices = Prices::default();
    for (name, value) in table.in_order() {
        match (name.value, &value.value) {
            ("currency", Content::Text(_)) => prices.currency = Some(text_of(source, value)?.value),
            ("currency", _) => return Err(mismatch(source, value, "a text in quotes")),
            (model, _) => prices
                .models
                .push((model.to_string(), price(source, model, value)?)),
        }
    }
    Ok(prices)
}

fn price<'s>(
    source: &'s Source<'s>,
    model: &str,
    value: &super::node::Node,
) -> Result<Price, ConfigError> {
    let mut table = table_of(source, format!("prices.{model}"), value)?;
    let mut number = |key: &'static str| -> Result<Option<f64>, ConfigError> {
        let Some(node) = table.raw(key) else {
            return Ok(None);
        };
        let amount = match &node.value {
            Content::Number(number) => number
                .as_f64()
                .filter(|amount| amount.is_finite() && *amount >= 0.0),
            _ => None,
        };
        let expected = "a price per million tokens (0 or more)";
        amount
            .map(Some)
            .ok_or_else(|| mismatch(source, node, expected))
    };
    let (input, output) = (number("input")?, number("output")?);
    let (cached, reasoning) = (number("cached")?, number("reasoning")?);
    table.finish();
    let (Some(input), Some(output)) = (input, output) else {
        return Err(source.error(
            value.span.clone(),
            "a model's price needs `input` and `output`",
        ));
    };
    Ok(Price {
        input,
        output,
        cached,
        reasoning,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn costs_use_the_users_prices_only() {
        let text = "[prices]\n\"gpt-5.1\" = { input = 2, cached = 0.5, output = 10 }\n\
                    \"gpt-5*\" = { input = 1, output = 4, reasoning = 8.0 }\n";
        let prices = Config::parse(text, None).unwrap().prices;
        let tokens = Tokens {
            input: 1_000_000,
            cached: 400_000,
            output: 100_000,
            reasoning: 50_000,
        };
        let cost = |model: &str| {
            prices
                .of(model)
                .map(|price| prices.amount(price.cost(tokens)))
        };
        assert_eq!(cost("gpt-5.1").as_deref(), Some("$2.40"));
        assert_eq!(cost("gpt-5-mini").as_deref(), Some("$1.60"));
        assert_eq!(cost("other"), None);
        assert_eq!(prices.amount(0.01423), "$0.0142");
        assert!(
            Config::default().prices.models.is_empty(),
            "there are no built-in prices"
        );
    }

    #[test]
    fn wrong_prices_are_reported() {
        for (text, why) in [
            ("[prices]\nx = { input = 1 }\n", "`input` and `output`"),
            ("[prices]\nx = { input = -1, output = 1 }\n", "0 or more"),
            ("[prices]\nx = 3\n", "table"),
            ("[prices]\ncurrency = 1\n", "text in quotes"),
        ] {
            let error = Config::parse(text, None).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
